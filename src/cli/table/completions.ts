import { type CommandSpec, type Completes, GLOBAL_OPTIONS, type OptionSpec } from "./spec.ts";

/** A possible next word. */
export interface Suggestion {
  readonly value: string;
  readonly about: string;
}

/** The possible next words; `files`: file names as well. */
export interface Completions {
  readonly words: readonly Suggestion[];
  readonly files: boolean;
}

/** Looks up words that only the store knows: moments, sessions … */
export type Lookup = (what: Completes) => Promise<Suggestion[]>;

/** The position of the word to be completed. */
interface Place {
  readonly command: CommandSpec | undefined;
  /** The option whose value it is. */
  readonly option: OptionSpec | undefined;
  /** Number of the command's arguments before it. */
  readonly argument: number;
  /** Only arguments can follow. */
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

/** The completion of the argument at a position; a repeated last argument also covers all that follow. */
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
 * Returns the possible next words. `words`: those typed so far without the program's name; the last one (perhaps empty)
 * is incomplete.
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
  // Files are offered if any later argument is a path, because those before it may be left out: `diff` takes a path
  // at once.
  return { ...found, files: found.files || command.args.slice(argument).some((arg) => arg.completes === "path") };
}
