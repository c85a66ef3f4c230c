import { posix } from "node:path";
import { XARGS_VALUED, argumentsOf, isOnlyGivenToOwner } from "./shell-arguments.ts";
import {
  readOptions,
  takesNext,
  valuesOf,
  type GivenOptions,
  ASSIGNMENT,
  isScriptFlag,
  SHELLS,
  foldersOfPrefixes,
  withoutPrefixes,
} from "./shell-options.ts";
import { type ShellWord, readShell, type ShellCommand } from "./shell-words.ts";
import { globPattern } from "../filter/name-sweep.ts";
import { guardedArguments } from "./guarded-arguments.ts";
import { MAX_FOLDER } from "./shell-paths.ts";

/** The folder in which a shell line of an agent runs, and the folders that the line must not touch. */
export interface GuardedPlace {
  readonly cwd: string;
  /** The variables with known values: `HOME`, `CHRONICLE_HOME` and similar ones. */
  readonly variables: Readonly<Record<string, string>>;
  /** The absolute paths of the guarded folders: the store, and the folder of the key. */
  readonly folders: readonly string[];
}

/** The maximum depth to which lines within lines (`sh -c`, `eval`, `$(…)`) are read. */
const MOST_NESTED = 5;

/** The maximum number of arguments of a script that are tried one by one, each as the only argument. */
const MOST_EACH = 4;

/** The maximum number of commands in a line that are checked. */
const MOST_COMMANDS = 10_000;

const CHRONICLE = /^(?:chronicle(?:\.(?:[cm]?js|cmd))?|@chronicle-dev\/chronicle(?:@.*)?)$/;
type Judge = (given: GivenOptions) => boolean;

const always: Judge = () => true;
const isNoDryRun: Judge = ({ options }) => !options.has("-n") && !options.has("--dry-run");

/**
 * Maps each verb that a hook refuses to an agent to a test of the verb's arguments. (Other verbs are refused by the
 * commands themselves, if they recognise the caller as an agent.) The test returns true if the call does one of these:
 * - give up history, or accept another history
 * - configure Chronicle, or switch it off
 * - decide whether work is on the record
 * - create or revoke a token, or open the page
 */
export const PERSONS_VERBS: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ["forget", always],
  ["prune", isNoDryRun],
  ["erase", isNoDryRun],
  ["gc", always],
  ["compact", ({ options }) => options.has("--drop-archive")],
  ["agents", ({ operands }) => operands[0]?.text === "uninstall"],
  ["config", ({ options, operands }) => operands.length > 1 || options.has("--clear")],
  ["head", ({ options }) => options.has("--accept")],
  // With these options, an agent would hide its own work, or record work that a person has kept off the record.
  ["run", ({ options }) => options.has("--otr")],
  ["snapshot", ({ options }) => options.has("--on-record")],
  // An agent with an operator's token could ask a server for everything that is refused here.
  ["token", ({ operands }) => /^(?:create|revoke)$/.test(operands[0]?.text ?? "")],
  // The address of the page leads to an operator's token as well.
  ["ui", always],
  // An archive can contain a key, and contents that agents must not see.
  ["export", ({ options }) => ["--with-key", "--with-protected", "--with-private"].some((name) => options.has(name))],
  ["import", ({ options }) => !options.has("--from")],
  // An installed watch outlives the agent, and runs outside of its sandbox.
  ["watch", ({ options }) => options.has("--install") || options.has("--uninstall")],
]);

/** Maps a verb to a function that returns the words which messages show after the verb. Default: no words. */
const SHOWN: Readonly<Record<string, (given: GivenOptions) => string>> = {
  agents: () => " uninstall",
  compact: () => " --drop-archive",
  head: () => " --accept",
  run: () => " --otr",
  snapshot: () => " --on-record",
  token: ({ operands }) => ` ${operands[0]?.text ?? ""}`,
  watch: ({ options }) => (options.has("--install") ? " --install" : " --uninstall"),
};

/**
 * Returns the first violation in a shell line, as a text for messages; `undefined` if there is no violation. A
 * violation is a command that only a person may give, or a path in a guarded folder that the line removes or writes.
 *
 * A word whose value cannot be known (an unknown variable, the output of a command, a line that a program reads) is
 * allowed. Everything beyond the limits (`MAX_SHELL_LINE`, `MOST_NESTED`, `MOST_COMMANDS`) is allowed, too. Never
 * throws. Takes time linear in the length of the line.
 */
export function personsCommandIn(line: string, place: GuardedPlace): string | undefined {
  // If `place.cwd` is itself `/proc/self/cwd`, the real folder is unknown, and `/` is used.
  return new Guard(place).read(line, resolved(place.cwd, "/"), 0);
}

class Guard {
  readonly #folders: readonly (readonly string[])[];
  #variables: Record<string, string>;
  readonly #aliases = new Map<string, readonly ShellWord[]>();
  #commands = 0;

  constructor({ folders, variables }: GuardedPlace) {
    this.#folders = folders.map((folder) => partsOf(posix.resolve("/", folder)));
    this.#variables = { ...variables };
  }

  read(line: string, from: string | undefined, depth: number): string | undefined {
    if (depth > MOST_NESTED) return undefined;
    this.#learn(line);
    const { steps, inner } = readShell(line, this.#known(line, from));
    for (const one of inner) {
      const found = this.read(one, from, depth + 1);
      if (found !== undefined) return found;
    }
    const outer: (string | undefined)[] = [];
    let cwd = from;
    for (const step of steps) {
      if (step === "(") outer.push(cwd);
      else if (step === ")") cwd = outer.length > 0 ? outer.pop() : cwd;
      else {
        const found = this.#judge(step, cwd, depth);
        if (found !== undefined) return found;
        cwd = this.#folderAfter(step, cwd);
      }
    }
    return undefined;
  }

  /** Notes the variables and aliases that the line sets. */
  #learn(line: string): void {
    for (const step of readShell(line, this.#variables).steps) {
      if (step === "(" || step === ")") continue;
      const [first, ...rest] = step.words;
      if (first?.text === "for") this.#learnLoop(rest);
      if (first?.text === "alias") this.#learnAliases(rest);
      const words = /^(?:export|declare|local|readonly|typeset)$/.test(first?.text ?? "") ? rest : step.words;
      for (const { text, known } of words) {
        const at = text.indexOf("=");
        if (!ASSIGNMENT.test(text)) break;
        if (known && text[at - 1] !== "+") this.#variables[text.slice(0, at)] = text.slice(at + 1);
      }
    }
  }

  /** Gives the variable of `for NAME in WORD…` the first word as its value. */
  #learnLoop([variable, key, value]: readonly ShellWord[]): void {
    if (key?.text !== "in" || variable?.known !== true || value?.known !== true) return;
    this.#variables[variable.text] = value.text;
  }

  #learnAliases(words: readonly ShellWord[]): void {
    for (const { text, known } of words) {
      const at = text.indexOf("=");
      const name = text.slice(0, at);
      const meant = split([{ text: text.slice(at + 1), known, glob: -1 }]);
      // In `alias ls='ls -l'`, the inner `ls` is the program, not the alias.
      if (known && at > 0 && meant[0]?.text !== name) this.#aliases.set(name, meant);
    }
  }

  /** Returns the variables with known values, including `$PWD` if the line does not change the current folder. */
  #known(line: string, cwd: string | undefined): Readonly<Record<string, string>> {
    const stays = cwd !== undefined && !/\b(?:cd|pushd|popd)\b/.test(line);
    return stays ? { ...this.#variables, PWD: cwd } : this.#variables;
  }

  #judge(command: ShellCommand, cwd: string | undefined, depth: number): string | undefined {
    for (const output of command.outputs) {
      const hit = this.#touched(output, cwd, false);
      if (hit !== undefined) return hit;
    }
    let at = cwd;
    for (const folder of foldersOfPrefixes(command.words)) at = this.#within(folder, at);
    return this.#words(split(withoutPrefixes(command.words)), at, depth);
  }

  #words(words: readonly ShellWord[], cwd: string | undefined, depth: number): string | undefined {
    const [name, ...rest] = words;
    this.#commands += 1;
    if (name === undefined || !name.known || depth > MOST_NESTED || this.#commands > MOST_COMMANDS) return undefined;
    const meant = this.#aliases.get(name.text);
    if (meant !== undefined) return this.#words(split(withoutPrefixes([...meant, ...rest])), cwd, depth + 1);
    const tool = posix.basename(name.text);
    if (CHRONICLE.test(tool) || CHRONICLE.test(name.text)) return this.#chronicle(rest, cwd, depth);
    if (SHELLS.has(tool)) return this.#script(rest, cwd, depth);
    for (const line of linesRunBy(tool, rest)) {
      const found = this.#inner(line, cwd, depth);
      if (found !== undefined) return found;
    }
    for (const run of tool === "find" ? findExecs(rest) : commandsRunBy(tool, rest)) {
      const found = this.#words(split(withoutPrefixes(run)), cwd, depth + 1);
      if (found !== undefined) return found;
    }
    return this.#arguments(tool, rest, cwd);
  }

  #chronicle(words: readonly ShellWord[], cwd: string | undefined, depth: number): string | undefined {
    const line = readChronicle(words);
    if (line === undefined) return undefined;
    const { verb, given, folder } = line;
    if (PERSONS_VERBS.get(verb)?.(given) === true) return `chronicle ${verb}${SHOWN[verb]?.(given) ?? ""}`;
    const at = folder === undefined ? cwd : this.#within(folder, cwd);
    for (const place of WRITING_VERBS.get(verb)?.places(given) ?? []) {
      const hit = this.#touched(place, at, false);
      if (hit !== undefined) return hit;
    }
    const tool = verb === "sync" ? given.values.get("--tool")?.at(-1) : undefined;
    if (tool !== undefined) return this.#inner([tool], at, depth);
    if (verb !== "run") return undefined;
    return this.#words(split(withoutPrefixes(given.operands)), at, depth + 1);
  }

  /** Judges the line of `sh -c LINE NAME ARGUMENT…`, with the values of `$0`, `$1` and so on. */
  #script(rest: readonly ShellWord[], cwd: string | undefined, depth: number): string | undefined {
    const flag = rest.findIndex(({ text }) => isScriptFlag(text));
    const line = flag < 0 ? undefined : rest[flag + 1];
    if (line === undefined) return undefined;
    const words = rest.slice(flag + 2);
    const known = words.slice(0, 10).flatMap(({ text, known: isKnown }, at) => (isKnown ? [[String(at), text]] : []));
    const given = words.slice(1).filter((word) => word.known);
    // `"$@"` stands for several words. The line is tried first with all of these words as one text, and then with each
    // word alone.
    const each = depth <= 1 && /\$\{?[@*]/.test(line.text) ? given.slice(0, MOST_EACH).map(({ text }) => text) : [];
    const outer = this.#variables;
    for (const all of [given.map(({ text }) => text).join(" "), ...each]) {
      this.#variables = { ...outer, ...Object.fromEntries(known), "@": all, "*": all };
      const found = this.#inner([line], cwd, depth);
      this.#variables = outer;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #inner(words: readonly ShellWord[], cwd: string | undefined, depth: number): string | undefined {
    if (words.length === 0 || words.some((word) => !word.known)) return undefined;
    return this.read(words.map((word) => word.text).join(" "), cwd, depth + 1);
  }

  /**
   * Judges the paths in a program's arguments. A folder above a guarded folder is a hit only if the program affects
   * everything beneath that folder. For this check, a `chmod` that only gives rights to the owner is taken as not
   * recursive.
   */
  #arguments(tool: string, rest: readonly ShellWord[], cwd: string | undefined): string | undefined {
    const touched = argumentsOf(tool, rest);
    const guarding = guardedArguments(tool, rest);
    const isDeep = touched?.deep === true && !(tool === "chmod" && isOnlyGivenToOwner(rest));
    const at = touched?.from === undefined ? cwd : this.#within(touched.from, cwd);
    const all = [
      ...(touched?.paths ?? []).map((word) => this.#touched(word, at, isDeep)),
      ...(touched?.into === undefined ? [] : [this.#touched(touched.into.target, at, false)]),
      ...(guarding?.paths ?? []).map((word) => this.#touched(word, cwd, guarding?.deep === true)),
    ];
    return all.find((hit) => hit !== undefined);
  }

  #touched(word: ShellWord, cwd: string | undefined, deep: boolean): string | undefined {
    if (!word.known || word.text === "" || (cwd === undefined && !word.text.startsWith("/"))) return undefined;
    const path = resolved(word.text, cwd ?? "/");
    const parts = partsOf(path);
    const matches = parts.map((part) => (word.glob < 0 ? undefined : globPattern(part)));
    const isHit = (guarded: readonly string[]): boolean =>
      (deep || parts.length >= guarded.length) &&
      guarded.every((part, i) => parts[i] === undefined || parts[i] === part || matches[i]?.(part) === true);
    return this.#folders.some(isHit) ? path : undefined;
  }

  #folderAfter({ words }: ShellCommand, cwd: string | undefined): string | undefined {
    const [name, ...rest] = withoutPrefixes(words);
    if (name?.text === "popd") return undefined;
    if (name?.text !== "cd" && name?.text !== "pushd") return cwd;
    const folder = rest.find(({ text }) => !/^-[a-zA-Z@]/.test(text) && text !== "--");
    return folder === undefined ? this.#variables["HOME"] : this.#within(folder, cwd);
  }

  #within(folder: ShellWord, cwd: string | undefined): string | undefined {
    if (!folder.known || folder.glob >= 0 || folder.text === "-") return undefined;
    if (cwd === undefined && !folder.text.startsWith("/")) return undefined;
    const path = resolved(folder.text, cwd ?? "/");
    return path.length > MAX_FOLDER ? undefined : path;
  }
}

/**
 * Matches the links of a process to its own root and to its own current folder. A command inherits both from the shell.
 */
const OWN_LINKS = /^proc\/(?:self|thread-self)\/(root|cwd)$/;

/**
 * Returns the path without `.` and `..`. Follows `/proc/self/root` and `/proc/self/cwd`. `cwd` is the current folder in
 * the form that this function returns.
 */
function resolved(path: string, cwd: string): string {
  let at = posix.isAbsolute(path) ? [] : partsOf(cwd);
  for (const part of partsOf(path)) {
    if (part === ".") continue;
    if (part === "..") at.pop();
    else at.push(part);
    // A `..` after one of the links in `OWN_LINKS` begins at the target of the link.
    const which = at.length === 3 ? OWN_LINKS.exec(at.join("/"))?.[1] : undefined;
    if (which !== undefined) at = which === "root" ? [] : partsOf(cwd);
  }
  return `/${at.join("/")}`;
}

/**
 * Splits the first word if it has blanks. Such a word must come from an unquoted variable, because no name of a program
 * has a blank.
 */
function split(words: readonly ShellWord[]): readonly ShellWord[] {
  const [first, ...rest] = words;
  if (first === undefined || !first.known || !/\s/.test(first.text.trim())) return words;
  const texts = first.text.trim().split(/\s+/);
  return [...texts.map((text) => ({ text, known: true, glob: -1 })), ...rest];
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

/**
 * The options of `chronicle`, and of the verbs in `PERSONS_VERBS`, that take a value. A test compares them with the
 * options of the command line.
 */
export const CHRONICLE_VALUED: ReadonlySet<string> = new Set(
  (
    "-C -w --directory --workspace --store --remote --token-file --wait " +
    "--summary --network-events --note -m --message --name --on-record --match --reason " +
    "--keep-last --keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within " +
    "--max-snapshots --max-age-days --min-age-hours --role --replica --expires --port --from --folder --as --to"
  ).split(" "),
);

const FOLLOWING = "--mode --filter-to --filter-from --policy --editor-files --debounce";

interface WritingVerb {
  /** The options of the verb that take a value. */
  readonly valued: ReadonlySet<string>;
  readonly places: (given: GivenOptions) => readonly ShellWord[];
}

function verb(valued: string, places: WritingVerb["places"]): WritingVerb {
  return { valued: new Set(valued.split(" ")), places };
}

/**
 * Maps each verb that writes to paths in its arguments to two things: the verb's options that take a value, and a
 * function that returns these paths. A test compares the options with those of the command line.
 */
export const WRITING_VERBS: ReadonlyMap<string, WritingVerb> = new Map([
  ["run", verb("--summary --network-events --note", (given) => valuesOf(given, "--summary"))],
  ["restore", verb("--to", (given) => valuesOf(given, "--to"))],
  [
    "record",
    verb("--folder --from --depth", (given) => [
      ...valuesOf(given, "--folder"),
      ...(given.operands[0]?.text === "backup" ? given.operands.slice(1) : []),
    ]),
  ],
  ["import", verb("--from --folder --as --to", (given) => valuesOf(given, "--folder --to"))],
  ["export", { valued: new Set(), places: ({ operands }) => operands }],
  [
    "serve",
    verb(
      "--socket --port --listen --allow-host --allow-origin --tls-cert --tls-key --token-file --oidc-issuer " +
        "--oidc-audience --oidc-role-claim --oidc-workspaces-claim --watch-most --idle",
      (given) => valuesOf(given, "--socket"),
    ),
  ],
  [
    "sync",
    verb(`${FOLLOWING} --timeout --tool --merged`, ({ operands }) =>
      operands[0]?.text === "start" ? operands.slice(2) : [],
    ),
  ],
  ["replicate", verb(`--connect --ws-connect --workspace ${FOLLOWING}`, ({ operands }) => operands)],
  [
    "init",
    verb(
      "--exclude --exclude-glob --force-include --max-entries --max-bytes --max-file-size --adopt",
      ({ operands }) => operands,
    ),
  ],
]);

interface ChronicleLine {
  readonly verb: string;
  readonly given: GivenOptions;
  readonly folder: ShellWord | undefined;
}

/**
 * Parses the arguments of `chronicle`. Returns `undefined` if the arguments ask for help, or if the verb cannot be
 * known.
 */
function readChronicle(words: readonly ShellWord[]): ChronicleLine | undefined {
  const before = readOptions(words, CHRONICLE_VALUED, { endsAtOperand: true, hasNumbers: true });
  const [named, ...rest] = before.operands;
  if (named?.known !== true) return undefined;
  const valued = new Set([...CHRONICLE_VALUED, ...(WRITING_VERBS.get(named.text)?.valued ?? [])]);
  const given = readOptions(rest, valued, { endsAtOperand: named.text === "run", hasNumbers: true });
  const all = [given, before];
  if (all.some(({ options }) => options.has("--help") || options.has("-h"))) return undefined;
  const folders = all.flatMap((one) => valuesOf(one, "--directory -C").at(-1) ?? []);
  return { verb: named.text, given, folder: folders[0] };
}

/** A program that runs the command in its own arguments. */
interface Runner {
  readonly valued: ReadonlySet<string>;
  /** The number of the runner's own operands, which precede the command. */
  readonly own: number;
}

function runners(own: number, all: Readonly<Record<string, string>>): (readonly [string, Runner])[] {
  return Object.entries(all).map(([name, options]) => [name, { valued: new Set(options.split(" ")), own }]);
}

const RUNNERS: ReadonlyMap<string, Runner> = new Map([
  ...runners(0, {
    npx: "-p --package -c --call",
    bunx: "-p --package",
    pnpx: "",
    node: "-r --require --import --loader -C --conditions --env-file",
    nodejs: "-r --require --import --loader -C --conditions --env-file",
    bun: "",
    deno: "",
    xargs: [...XARGS_VALUED].join(" "),
    watch: "-n --interval",
    unshare: "",
    script: "",
    strace: "-e -o",
    ltrace: "-e -o",
    busybox: "",
    screen: "-S -c -h -t -p -e -s -T",
    runuser: "-u -g -G --user --group",
    "systemd-run": "-p -u -E -t --property --unit --setenv",
    prlimit: "",
    nsenter: "-t",
    fakeroot: "",
    unbuffer: "",
    "xvfb-run": "-n -s",
    "dbus-run-session": "",
    caffeinate: "-t -w",
  }),
  ...runners(1, { chroot: "", flock: "-w -E --timeout --wait --conflict-exit-code", taskset: "", chrt: "" }),
]);

const PACKAGE_VERBS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["npm", new Set(["exec", "x"])],
  ["pnpm", new Set(["exec", "dlx"])],
  ["yarn", new Set(["exec", "dlx", "run"])],
  ["bun", new Set(["x", "run"])],
  ["deno", new Set(["run"])],
]);

/** The maximum number of arguments of `parallel` that are checked. */
const MOST_TRIED = 100;

function commandsRunBy(tool: string, rest: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  if (tool === "parallel") return parallelCommands(rest);
  const verbs = PACKAGE_VERBS.get(tool);
  const runner = RUNNERS.get(tool);
  if (verbs === undefined && runner === undefined) return [];
  const at = firstOperand(rest, runner?.valued ?? new Set(["-p", "--package", "--prefix", "-C", "-w"]));
  const isVerb = verbs?.has(rest[at]?.text ?? "") === true;
  if (verbs !== undefined && runner === undefined && !isVerb) return [];
  if (!isVerb) return [rest.slice(at + (runner?.own ?? 0))];
  const after = rest.slice(at + 1);
  return [after.slice(firstOperand(after, new Set(["-p", "--package"])))];
}

const PARALLEL_VALUED = new Set("-j -N -n -L -a -I -S --jobs --arg-file --sshlogin --results --joblog".split(" "));

/**
 * Returns the commands that `parallel COMMAND… ::: ARGUMENT…` runs: one command for each argument. Without a command,
 * the arguments are shell lines (see `linesRunBy`).
 */
function parallelCommands(rest: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  const from = firstOperand(rest, PARALLEL_VALUED);
  const end = rest.findIndex(({ text }, at) => at >= from && text.startsWith(":::"));
  const command = rest.slice(from, end < 0 ? undefined : end);
  if (end < 0 || command.length === 0) return [command];
  const given = rest.slice(end + 1).filter(({ text }) => !text.startsWith(":::"));
  const isNamed = command.some(({ text }) => text.includes("{}"));
  return given.slice(0, MOST_TRIED).map((one) => {
    if (!isNamed) return [...command, one];
    return command.map((word) => ({
      ...word,
      text: word.text.replaceAll("{}", () => one.text),
      known: word.known && (one.known || !word.text.includes("{}")),
    }));
  });
}

const TMUX_VALUED = new Set("-L -S -f -T".split(" "));
const TMUX_VERB_VALUED = new Set("-s -n -c -t -x -y -e -F -l -p -b".split(" "));
const WATCH_VALUED = new Set(["-n", "--interval"]);
const FIND_EXEC = /^-(?:exec|execdir|ok|okdir)$/;

/** Returns the shell lines that a tool runs, each as a list of words. */
function linesRunBy(tool: string, rest: readonly ShellWord[]): readonly (readonly ShellWord[])[] {
  if (tool === "eval") return [rest];
  if (tool === "trap") return [operandsOf(rest, new Set()).slice(0, 1)];
  if (tool === "watch") return [operandsOf(rest, WATCH_VALUED)];
  if (tool === "tmux") return [operandsOf(operandsOf(rest, TMUX_VALUED).slice(1), TMUX_VERB_VALUED)];
  if (tool === "parallel") {
    const at = rest.findIndex(({ text }) => text === ":::");
    const isBare = at >= 0 && firstOperand(rest, PARALLEL_VALUED) === at;
    return isBare ? rest.slice(at + 1, at + 1 + MOST_TRIED).map((one) => [one]) : [];
  }
  if (!/^(?:npx|npm|su|runuser|script|flock)$/.test(tool)) return [];
  const flag = rest.findIndex(({ text }) => /^(?:-[a-z]*c|--call|--command)$/.test(text));
  return flag < 0 ? [] : [rest.slice(flag + 1, flag + 2)];
}

/** Returns the command of each `-exec` of `find`. A command ends at `;`, at `{} +`, or at the next `-exec`. */
function findExecs(rest: readonly ShellWord[]): (readonly ShellWord[])[] {
  const runs: ShellWord[][] = [];
  let run: ShellWord[] | undefined;
  for (const word of rest) {
    if (FIND_EXEC.test(word.text)) runs.push((run = []));
    else if (word.text === ";" || (word.text === "+" && run?.at(-1)?.text === "{}")) run = undefined;
    else run?.push(word);
  }
  return runs;
}

function operandsOf(words: readonly ShellWord[], valued: ReadonlySet<string>): readonly ShellWord[] {
  return readOptions(words, valued, { endsAtOperand: true }).operands;
}

function firstOperand(words: readonly ShellWord[], valued: ReadonlySet<string>): number {
  let at = 0;
  for (;;) {
    const word = words[at];
    if (word?.text === "--") return at + 1;
    if (word?.text.startsWith("-") !== true) return at;
    at += takesNext(word, valued) ? 2 : 1;
  }
}
