import { EXIT } from "../../../api/problems.ts";
import type { CommandContext } from "../../support/context.ts";
import { usageError } from "../../../process/usage-error.ts";
import { type CommandSpec, type Completes, GLOBAL_OPTIONS, type OptionSpec } from "../../table/spec.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import { CONFIG_KEYS } from "../../support/config-value.ts";

/**
 * The codes in the last line of the output of `complete`. A code tells a script of `@bomb.sh/tab` whether to offer file
 * names in addition to the words.
 */
const WITH_FILES = 0;
const WITHOUT_FILES = 4;

async function moments(context: CommandContext): Promise<Suggestion[]> {
  const workspace = await context.reading();
  const snapshots = (await workspace.snapshots()).toReversed();
  const named = snapshots.flatMap(({ name, number }) =>
    name === undefined ? [] : [{ value: name, about: `snapshot ${number}` }],
  );
  const numbers = snapshots.map(({ number, message, cause, timestamp }) => {
    return { value: String(number), about: `${message ?? cause} ${timestamp}` };
  });
  const words = ["latest", "now", "10m", "1h"].map((value) => ({ value, about: "" }));
  return [...words, ...named, ...numbers.slice(0, 50)];
}

async function looked(what: Completes, context: CommandContext): Promise<Suggestion[]> {
  if (what === "config-key") return CONFIG_KEYS.map((value) => ({ value, about: "" }));
  const store = await context.store({ once: true });
  if (what === "moment") return moments(context);
  if (what === "workspace") {
    const all = await store.workspaces();
    const named = all.flatMap(({ name, path }) => (name === undefined ? [] : [{ value: name, about: path }]));
    return [...named, ...all.map((item) => ({ value: item.id, about: item.name ?? item.path }))];
  }
  if (what === "session") {
    const all = (await (await context.reading()).sessions()).toReversed();
    return all.map((item) => ({ value: item.session_id, about: item.command.join(" ") }));
  }
  if (what === "operation") {
    const all = (await (await context.reading()).operations()).toReversed();
    return all.map((item) => ({ value: item.id, about: `${item.kind}: ${item.summary}` }));
  }
  return [];
}

/**
 * Returns the possible words. If the words cannot be determined (for example because there is no workspace yet),
 * returns no words and prints nothing.
 */
async function offered(what: Completes, context: CommandContext): Promise<Suggestion[]> {
  try {
    return await looked(what, context);
  } catch (error) {
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}

/**
 * Prints one line for each possible next word: the word, a tab and a remark (perhaps empty). The last line has a colon
 * and the code for the shell's script.
 */
export async function complete(context: CommandContext): Promise<number> {
  const { words, files } = await completionsFor(context.commands, context.input.args, (what) => offered(what, context));
  for (const { value, about } of words) context.print(`${value}\t${about.replaceAll(/[\t\n]/g, " ")}`);
  context.print(`:${files ? WITH_FILES : WITHOUT_FILES}`);
  return EXIT.done;
}

export async function completion(context: CommandContext): Promise<number> {
  const shell = context.input.args[0] ?? "";
  if (!SHELLS.includes(shell)) throw usageError(`no completions for '${shell}'`, `shells: ${SHELLS.join(", ")}`);
  const script = await completionScript(shell);
  if (context.json) context.printJson({ shell, script });
  else context.io.out.write(script);
  return EXIT.done;
}

const SHELLS: readonly string[] = ["bash", "zsh", "fish"];

/**
 * The completion script for bash 3.2 and later. The script of `@bomb.sh/tab` is not used for bash, because it passes
 * the typed words to `eval`, needs bash-completion, and never offers files.
 */
const BASH = `# bash completion for chronicle
_chronicle() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :* ]] || COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <(chronicle complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _chronicle chronicle
`;

async function completionScript(shell: string): Promise<string> {
  if (shell === "bash") return BASH;
  const { script } = await import("@bomb.sh/tab");
  // `console.log` is replaced during the call, because the library prints the script and does not return it.
  const lines: string[] = [];
  const { log } = console;
  console.log = (...words: unknown[]) => void lines.push(words.join(" "));
  try {
    script(shell, "chronicle", "chronicle");
  } finally {
    console.log = log;
  }
  return `${lines.join("\n")}\n`;
}

interface Suggestion {
  readonly value: string;
  readonly about: string;
}

/** The possible next words. `files`: true if the next word can also be a file name. */
interface Completions {
  readonly words: readonly Suggestion[];
  readonly files: boolean;
}

/** Looks up words that are in the store, such as moments and sessions. */
type Lookup = (what: Completes) => Promise<Suggestion[]>;

/** The place of the word that is to be completed. */
interface Place {
  /** The command, if its name was typed before the word. */
  readonly command: CommandSpec | undefined;
  /** The option, if the word is an option's value. */
  readonly option: OptionSpec | undefined;
  /** The number of the command's arguments before the word. */
  readonly argument: number;
  /** True if only arguments can follow, because `--` was typed. */
  readonly dashed: boolean;
}

function longOf(option: OptionSpec): string {
  return /--[a-z-]+/.exec(option.flags)?.[0] ?? option.flags;
}

function takesValue(option: OptionSpec): boolean {
  return option.flags.includes("<");
}

function findOption(options: readonly OptionSpec[], word: string): OptionSpec | undefined {
  return options.find((option) => option.flags.split(/[ ,]+/).includes(word));
}

function optionsAt(command: CommandSpec | undefined): readonly OptionSpec[] {
  return [...(command?.options ?? []), ...GLOBAL_OPTIONS];
}

function placeAfter(commands: readonly CommandSpec[], words: readonly string[]): Place {
  let command: CommandSpec | undefined;
  let argument = 0;
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? "";
    if (word === "--") return { command, option: undefined, argument: argument + words.length - at - 1, dashed: true };
    const option = word.startsWith("-") ? findOption(optionsAt(command), word) : undefined;
    if (option !== undefined && takesValue(option)) {
      at += 1;
      if (at >= words.length) return { command, option, argument, dashed: false };
    } else if (!word.startsWith("-")) {
      if (command === undefined) command = commands.find((spec) => spec.name === word);
      else argument += 1;
    }
  }
  return { command, option: undefined, argument, dashed: false };
}

/**
 * Returns the kind of completion for the argument at position `at`. A repeated last argument (`[path...]`) stands for
 * all later positions.
 */
function argumentCompletes(command: CommandSpec, at: number): Completes | undefined {
  const last = command.args.at(-1);
  const arg = command.args[at] ?? (last?.name.includes("...") === true ? last : undefined);
  return arg?.completes;
}

function startingWith(typed: string, all: readonly Suggestion[]): Suggestion[] {
  return all.filter((item) => item.value.startsWith(typed));
}

async function valuesOf(what: Completes | undefined, typed: string, lookup: Lookup): Promise<Completions> {
  if (what === undefined) return { words: [], files: false };
  if (what === "path") return { words: [], files: true };
  if (typeof what !== "string") {
    return {
      words: startingWith(
        typed,
        what.map((value) => ({ value, about: "" })),
      ),
      files: false,
    };
  }
  return { words: startingWith(typed, await lookup(what)), files: false };
}

/**
 * Returns the completions of the last word. `words`: the words typed so far, without the program's name. The last word
 * is incomplete and may be empty.
 */
export async function completionsFor(
  commands: readonly CommandSpec[],
  words: readonly string[],
  lookup: Lookup,
): Promise<Completions> {
  const typed = words.at(-1) ?? "";
  const { command, option, argument, dashed } = placeAfter(commands, words.slice(0, -1));
  const names = commands
    .filter((spec) => spec.hidden !== true)
    .map(({ name, summary }) => ({ value: name, about: summary }));
  if (option !== undefined) return valuesOf(option.completes, typed, lookup);
  if (typed.startsWith("-") && !dashed) {
    const flags = optionsAt(command).map((spec) => ({ value: longOf(spec), about: spec.description }));
    return { words: startingWith(typed, [...flags, { value: "--help", about: "help with examples" }]), files: false };
  }
  if (command === undefined) return { words: startingWith(typed, names), files: false };
  if (command.name === "run") return { words: [], files: true };
  const found = await valuesOf(dashed ? "path" : argumentCompletes(command, argument), typed, lookup);
  // Files are offered if this argument or a later one is a path, because the arguments before the path may be optional,
  // as in `diff`.
  return { ...found, files: found.files || command.args.slice(argument).some((arg) => arg.completes === "path") };
}
