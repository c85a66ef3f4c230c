import { posix } from "node:path";
import { globPattern } from "../filter/glob-pattern.ts";
import { argumentsOf, XARGS_VALUED } from "./shell-arguments.ts";
import { type GivenOptions, readOptions, takesNext } from "./shell-options.ts";
import { ASSIGNMENT, isScriptFlag, SHELLS, withoutPrefixes } from "./shell-prefixes.ts";
import { readShell, type ShellCommand, type ShellWord } from "./shell-words.ts";

/** Where a shell line of an agent runs, and what it must not touch. */
export interface GuardedPlace {
  /** Absolute. */
  readonly cwd: string;
  /** Variables whose values are known: `HOME`, `CHRONICLE_HOME` and the like. */
  readonly variables: Readonly<Record<string, string>>;
  /** Absolute folders: the store, and that of the key. */
  readonly folders: readonly string[];
}

/** So deep lines within lines are read (`sh -c`, `eval`, `$(…)`). */
const MOST_NESTED = 5;
/** So many commands of one line are looked at. */
const MOST_COMMANDS = 10_000;

/** Programs that run another one, with the options of theirs that take a value. */
const RUNNERS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    npx: "-p --package -c --call",
    bunx: "-p --package",
    pnpx: "",
    node: "-r --require --import --loader -C --conditions --env-file",
    nodejs: "-r --require --import --loader -C --conditions --env-file",
    bun: "",
    deno: "",
    xargs: [...XARGS_VALUED].join(" "),
    watch: "-n --interval",
    parallel: "-j",
    chroot: "",
    unshare: "",
    script: "",
    strace: "-e -o",
    busybox: "",
  }).map(([name, options]) => [name, new Set(options.split(" "))]),
);
/** Words of package managers before the command that they run. */
const PACKAGE_VERBS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["npm", new Set(["exec", "x"])],
  ["pnpm", new Set(["exec", "dlx"])],
  ["yarn", new Set(["exec", "dlx", "run"])],
  ["bun", new Set(["x", "run"])],
  ["deno", new Set(["run"])],
]);

const CHRONICLE = /^(?:chronicle(?:\.(?:[cm]?js|cmd))?|@chronicle-dev\/chronicle(?:@.*)?)$/;
/** Options of `chronicle`, and of the verbs that are a person's, that take a value. A test holds them to the command line's own. */
export const CHRONICLE_VALUED: ReadonlySet<string> = new Set(
  (
    "-C -w --directory --workspace --store --remote --token-file --wait " +
    "--summary --network-events --note -m --message --name --on-record --match --reason " +
    "--keep-last --keep-hourly --keep-daily --keep-weekly --keep-monthly --keep-yearly --keep-within " +
    "--max-snapshots --max-age-days --min-age-hours"
  ).split(" "),
);

type Judge = (given: GivenOptions) => boolean;

const always: Judge = () => true;
const isNoDryRun: Judge = ({ options }) => !options.has("-n") && !options.has("--dry-run");

/** What only a person may do, by the verb: does it, with these words, give up history, or switch Chronicle off? */
export const PERSONS_VERBS: ReadonlyMap<string, Judge> = new Map<string, Judge>([
  ["forget", always],
  ["prune", isNoDryRun],
  ["erase", isNoDryRun],
  ["gc", always],
  ["compact", ({ options }) => options.has("--drop-archive")],
  ["agents", ({ operands }) => operands[0]?.text === "uninstall"],
  ["config", ({ options, operands }) => operands.length > 1 || options.has("--clear")],
  ["head", ({ options }) => options.has("--accept")],
  // An agent would take its own work off the record, and what a person has kept off it onto it.
  ["run", ({ options }) => options.has("--otr")],
  ["snapshot", ({ options }) => options.has("--on-record")],
]);

/** The words behind a verb that make it a person's, for messages. */
const SHOWN: Readonly<Record<string, string>> = {
  agents: " uninstall",
  compact: " --drop-archive",
  head: " --accept",
  run: " --otr",
  snapshot: " --on-record",
};

/**
 * Does a shell line give a command that only a person may give, or remove or write what Chronicle keeps? Returns that command as it
 * is to be told, or the path. It is no shell: what cannot be known (a variable, the output of a command, a line that a program reads)
 * is passed. Never throws; the time is linear in the line.
 */
export function personsCommandIn(line: string, place: GuardedPlace): string | undefined {
  return new Guard(place).read(line, place.cwd, 0);
}

class Guard {
  readonly #folders: readonly (readonly string[])[];
  readonly #variables: Record<string, string>;
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

  /** Notes the variables to which the line gives literal values. */
  #learn(line: string): void {
    for (const step of readShell(line, this.#variables).steps) {
      if (step === "(" || step === ")") continue;
      const words = /^(?:export|declare|local|readonly|typeset)$/.test(step.words[0]?.text ?? "")
        ? step.words.slice(1)
        : step.words;
      for (const { text, known } of words) {
        const at = text.indexOf("=");
        if (!ASSIGNMENT.test(text)) break;
        if (known && text[at - 1] !== "+") this.#variables[text.slice(0, at)] = text.slice(at + 1);
      }
    }
  }

  /** `$PWD` is only known where the line stays in its folder. */
  #known(line: string, cwd: string | undefined): Readonly<Record<string, string>> {
    const stays = cwd !== undefined && !/\b(?:cd|pushd|popd)\b/.test(line);
    return stays ? { ...this.#variables, PWD: cwd } : this.#variables;
  }

  #judge(command: ShellCommand, cwd: string | undefined, depth: number): string | undefined {
    this.#commands += 1;
    if (this.#commands > MOST_COMMANDS) return undefined;
    for (const output of command.outputs) {
      const hit = this.#touched(output, cwd, false);
      if (hit !== undefined) return hit;
    }
    return this.#words(split(withoutPrefixes(command.words)), cwd, depth);
  }

  #words(words: readonly ShellWord[], cwd: string | undefined, depth: number): string | undefined {
    const [name, ...rest] = words;
    if (name === undefined || !name.known || depth > MOST_NESTED) return undefined;
    const tool = posix.basename(name.text);
    if (CHRONICLE.test(tool) || CHRONICLE.test(name.text)) return this.#chronicle(rest, cwd, depth);
    if (SHELLS.has(tool) || tool === "eval") return this.#script(tool, rest, { cwd, depth });
    const run = commandRunBy(tool, rest);
    const found = run === undefined ? undefined : this.#words(split(withoutPrefixes(run)), cwd, depth + 1);
    return found ?? this.#script(tool, rest, { cwd, depth }) ?? this.#arguments(tool, rest, cwd);
  }

  /** `chronicle VERB …`, and what `chronicle run` is given to run. */
  #chronicle(words: readonly ShellWord[], cwd: string | undefined, depth: number): string | undefined {
    const line = readChronicle(words);
    if (line === undefined) return undefined;
    const { verb, given, folder } = line;
    if (PERSONS_VERBS.get(verb)?.(given) === true) return `chronicle ${verb}${SHOWN[verb] ?? ""}`;
    if (verb !== "run") return undefined;
    const at = folder === undefined ? cwd : this.#within(folder, cwd);
    return this.#words(split(withoutPrefixes(given.operands)), at, depth + 1);
  }

  /** `sh -c '…'`, `eval …`, `npx -c '…'`, `find … -exec …`. */
  #script(
    tool: string,
    rest: readonly ShellWord[],
    { cwd, depth }: { readonly cwd: string | undefined; readonly depth: number },
  ): string | undefined {
    if (tool === "find") {
      const at = rest.findIndex(({ text }) => /^-(?:exec|execdir|ok|okdir)$/.test(text));
      return at < 0 ? undefined : this.#words(withoutPrefixes(rest.slice(at + 1)), cwd, depth + 1);
    }
    if (tool === "eval") return this.#inner(rest, cwd, depth);
    const isShell = SHELLS.has(tool);
    const flag = rest.findIndex(({ text }) => (isShell ? isScriptFlag(text) : text === "-c" || text === "--call"));
    const takesScript = isShell || /^(?:npx|npm|su|script)$/.test(tool);
    if (flag >= 0 && takesScript) return this.#inner(rest.slice(flag + 1, flag + 2), cwd, depth);
    return undefined;
  }

  #inner(words: readonly ShellWord[], cwd: string | undefined, depth: number): string | undefined {
    if (words.length === 0 || words.some((word) => !word.known)) return undefined;
    return this.read(words.map((word) => word.text).join(" "), cwd, depth + 1);
  }

  /** A folder above what is guarded counts where what lies beneath it goes with it. */
  #arguments(tool: string, rest: readonly ShellWord[], cwd: string | undefined): string | undefined {
    const touched = argumentsOf(tool, rest);
    if (touched === undefined) return undefined;
    const isGone = touched.deep && !/^ch(?:mod|own|grp)$/.test(tool);
    for (const word of touched.paths) {
      const hit = this.#touched(word, cwd, isGone);
      if (hit !== undefined) return hit;
    }
    return touched.into === undefined ? undefined : this.#touched(touched.into.target, cwd, false);
  }

  #touched(word: ShellWord, cwd: string | undefined, deep: boolean): string | undefined {
    if (!word.known || word.text === "" || (cwd === undefined && !word.text.startsWith("/"))) return undefined;
    const path = posix.resolve("/", cwd ?? "/", word.text);
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
    return posix.resolve("/", cwd ?? "/", folder.text);
  }
}

/** An unquoted variable may hold several words: a program whose name holds a blank is none. */
function split(words: readonly ShellWord[]): readonly ShellWord[] {
  const [first, ...rest] = words;
  if (first === undefined || !first.known || !/\s/.test(first.text.trim())) return words;
  const texts = first.text.trim().split(/\s+/);
  return [...texts.map((text) => ({ text, known: true, glob: -1 })), ...rest];
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "");
}

/** The command that a program is given to run. */
function commandRunBy(tool: string, rest: readonly ShellWord[]): readonly ShellWord[] | undefined {
  const verbs = PACKAGE_VERBS.get(tool);
  const valued = RUNNERS.get(tool);
  if (verbs === undefined && valued === undefined) return undefined;
  const at = firstOperand(rest, valued ?? new Set(["-p", "--package", "--prefix", "-C", "-w"]));
  const isVerb = verbs?.has(rest[at]?.text ?? "") === true;
  if (verbs !== undefined && valued === undefined && !isVerb) return undefined;
  if (!isVerb) return rest.slice(at);
  const after = rest.slice(at + 1);
  return after.slice(firstOperand(after, new Set(["-p", "--package"])));
}

function firstOperand(words: readonly ShellWord[], valued: ReadonlySet<string>): number {
  let at = 0;
  for (;;) {
    const text = words[at]?.text ?? "";
    if (text === "--") return at + 1;
    if (!text.startsWith("-")) return at;
    at += takesNext(text, valued) ? 2 : 1;
  }
}

/** The words behind `chronicle`; `undefined`: help is asked for, or the verb is not known. */
function readChronicle(words: readonly ShellWord[]):
  | {
      readonly verb: string;
      /** What stands behind the verb. */
      readonly given: GivenOptions;
      /** The folder in which it works. */
      readonly folder: ShellWord | undefined;
    }
  | undefined {
  const before = readOptions(words, CHRONICLE_VALUED, "the first operand");
  const [verb, ...rest] = before.operands;
  if (verb?.known !== true) return undefined;
  const given = readOptions(rest, CHRONICLE_VALUED, verb.text === "run" ? "the first operand" : "the end");
  const all = [given, before];
  if (all.some(({ options }) => options.has("--help") || options.has("-h"))) return undefined;
  const folders = all.flatMap(({ values }) => values.get("--directory") ?? values.get("-C") ?? []);
  return { verb: verb.text, given, folder: folders[0] };
}
