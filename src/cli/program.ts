import { Command, type CommanderError, InvalidArgumentError, Option } from "commander";
import { COMMANDS } from "./table/command-table.ts";
import { paintFor, shownCommand } from "../process/printable.ts";
import { closestTo } from "./render/closest.ts";
import { isSameWord, sameHere, sameOption } from "./support/foreign-words.ts";
import { inLocalZone } from "../process/local-zone.ts";
import { type CommandSpec, describedWith, detailsOf, GLOBAL_OPTIONS, type OptionSpec } from "./table/spec.ts";
import { parseValue } from "./table/parse-value.ts";
import { usageError } from "../process/usage-error.ts";
import { greatestOf } from "../util/long-lists.ts";

export interface Parsed {
  /** The command; `undefined` if none was given. */
  readonly spec: CommandSpec | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  readonly args: readonly string[];
}

const INTRODUCTION = "Records what a command changes in a folder, proves it, and takes it back.";

const FIRST_STEPS = `
First steps:
  chronicle run -- <command>     run anything; see what it changed
  chronicle undo                 take it back
  chronicle                      recent work, and how to go back

Exit codes: 0 done, 1 failed or partial coverage, 2 usage, 3 not found, 4 damaged, 5 locked, 6 refused.
Help on one command: chronicle <command> -h`;

function readValue(spec: OptionSpec, text: string, previous: unknown): unknown {
  const read = parseValue(spec.value ?? "text", text);
  if ("wanted" in read) throw new InvalidArgumentError(`It must be ${read.wanted}.`);
  if (spec.completes === "moment") return inLocalZone(text);
  if (spec.repeated !== true) return read.value;
  return [...(Array.isArray(previous) ? previous : []), read.value];
}

function optionOf(spec: OptionSpec): Option {
  const option = new Option(spec.flags, describedWith(spec));
  if (option.required || option.optional) {
    option.argParser((text, previous: unknown) => readValue(spec, text, previous));
  }
  return option;
}

/** Adds the global options to a command, except those with the name of one of the command's own options. */
function addGlobals(command: Command, own: readonly OptionSpec[] = []): void {
  const taken = new Set(own.map((spec) => optionOf(spec).long));
  for (const spec of GLOBAL_OPTIONS) {
    const option = optionOf(spec);
    if (!taken.has(option.long)) command.addOption(option.helpGroup("Everywhere:"));
  }
  command.helpOption("-h, --help", "help with examples");
}

/** Returns the usage line of a command, without the names of the program and the command. */
export function usageOf(spec: CommandSpec): string {
  return spec.usage ?? ["[options]", ...spec.args.map((arg) => arg.name)].join(" ");
}

function examplesOf(spec: CommandSpec): string {
  const width = greatestOf(spec.examples.map((example) => example.line.length));
  const lines = spec.examples.map(({ line, why }) => `  ${line.padEnd(width)}  # ${why}`);
  return `\nExamples:\n${lines.join("\n")}`;
}

function insteadOf({ name, tried = {}, meant }: CommandSpec, args: readonly string[], error: CommanderError): string[] {
  const own = Object.entries(tried).flatMap(([flag, hint]) => (error.message.includes(`'${flag}'`) ? [hint] : []));
  const hints = own.length > 0 ? own : hintOfOption(error, name);
  if (meant === undefined || error.code !== "commander.excessArguments") return hints;
  return [...hints, `for ${meant.what}: ${shownCommand(["chronicle", name, meant.flag, args.join(" ")])}`];
}

/** Returns the hint for an option of another tool, or for an argument that other tools take. */
function hintOfOption({ code, message }: CommanderError, command?: string): string[] {
  if (code === "commander.excessArguments") return sameLine(sameOption("REV", command));
  const [, flag = ""] = /'(-[^']*)'/.exec(message) ?? [];
  return code === "commander.unknownOption" ? sameLine(sameOption(flag, command)) : [];
}

function sameLine(hint: string | undefined): string[] {
  return hint === undefined ? [] : [`the same here: ${hint}`];
}

/**
 * Returns a handler that replaces an error of commander by `USAGE`, with the hints that `instead` returns. Commander
 * also throws an error after it has printed help or the version. The handler throws this error unchanged.
 */
function onExit(
  usage: string,
  help: string,
  instead: (error: CommanderError) => string[] = () => [],
): (error: CommanderError) => never {
  return (error) => {
    if (error.exitCode === 0) throw error;
    // Commander prints help for `help nonsense`. This program reports an error instead.
    if (error.code === "commander.help") throw usageError("there is no such command", `help: ${help}`);
    const [message = "", ...more] = error.message.replace(/^error: /, "").split("\n");
    throw usageError(message, [...more, ...instead(error), `usage: ${usage}`, `help: ${help}`].join("\n"));
  };
}

function addCommand(program: Command, spec: CommandSpec, done: (parsed: Parsed) => void): void {
  const command = program.command(spec.name, { hidden: spec.hidden === true });
  command.summary(spec.summary).helpGroup(`${spec.group}:`).usage(usageOf(spec));
  const here =
    spec.localOnly === undefined ? undefined : `This does not work with --remote: ${spec.localOnly.instead}.`;
  command.description(
    [`${spec.summary[0]?.toUpperCase()}${spec.summary.slice(1)}.`, detailsOf(spec), here].filter(Boolean).join("\n\n"),
  );
  for (const arg of spec.args) command.argument(arg.name, describedWith(arg));
  for (const option of spec.options) command.addOption(optionOf(option));
  command.allowExcessArguments(false);
  addGlobals(command, spec.options);
  if (spec.examples.length > 0) command.addHelpText("after", examplesOf(spec));
  if (spec.passThrough === true) command.passThroughOptions();
  const instead = (error: CommanderError): string[] => insteadOf(spec, command.args, error);
  command.exitOverride(onExit(`chronicle ${spec.name} ${usageOf(spec)}`, `chronicle ${spec.name} -h`, instead));
  command.action(() => done({ spec, options: { ...program.opts(), ...givenOptions(command) }, args: command.args }));
}

/**
 * Returns the options that were given after the command's name, and the defaults of all others. If an option was given
 * before the command's name, its default is left out, because the default would replace the given value.
 */
function givenOptions(command: Command): Record<string, unknown> {
  const all: Record<string, unknown> = command.opts();
  const given = Object.entries(all).filter(
    ([key]) => command.getOptionValueSource(key) !== "default" || command.parent?.getOptionValue(key) === undefined,
  );
  return Object.fromEntries(given);
}

/** Throws the error for an unknown command. `argv`: the words of the command line. */
function unknownCommand(word: string, argv: readonly string[]): never {
  const names = COMMANDS.filter((spec) => spec.hidden !== true).map((spec) => spec.name);
  const same = names.find((name) => isSameWord(word, name)) ?? names.find((name) => isSameWord(`${word}s`, name));
  const hint = sameLine(sameHere(word));
  const [near] = same === undefined && hint.length === 0 ? closestTo(word, names, 1) : [same];
  const guess = near === undefined ? [] : [`did you mean: chronicle ${near}`];
  const named = [...guess, ...hint];
  const hints = named.length > 0 ? named : argv.flatMap((one) => sameLine(sameOption(one))).slice(0, 1);
  throw usageError(
    `unknown command '${word}'`,
    [...hints, `to record a command: chronicle run -- ${shownCommand([word])}`, "help: chronicle -h"].join("\n"),
  );
}

export interface HelpSink {
  readonly columns: number;
  readonly colours: boolean;
  write(text: string): void;
}

const HELP: ReadonlySet<string> = new Set(["-h", "--help", "help"]);

/**
 * Returns the commands whose names are words of the command line; for help, returns all commands. Only the returned
 * commands are added to the parser, because adding all commands takes longer than parsing.
 */
function commandsNamedIn(argv: readonly string[]): readonly CommandSpec[] {
  if (argv.some((word) => HELP.has(word))) return COMMANDS;
  const words = new Set(argv);
  return COMMANDS.filter(({ name }) => words.has(name));
}

function buildProgram(
  { argv, version }: { readonly argv: readonly string[]; readonly version: string },
  sink: HelpSink,
  done: (parsed: Parsed) => void,
): Command {
  const program = new Command("chronicle");
  const paint = paintFor(sink.colours);
  program.configureOutput({
    writeOut: (text) => sink.write(text),
    // Commander's own messages are dropped, because errors are thrown and then reported in one place.
    writeErr: () => undefined,
    getOutHelpWidth: () => Math.min(sink.columns, 110),
    getOutHasColors: () => sink.colours,
  });
  program.configureHelp({
    styleTitle: (text) => paint("bold", text),
    styleSubcommandTerm: (text) => paint("cyan", text),
    subcommandTerm: (command) => command.name(),
  });
  program.description(INTRODUCTION).usage("[options] [command]").version(version, "--version", "print the version");
  program.enablePositionalOptions().allowExcessArguments();
  const help = program.createCommand("help").argument("[command]").summary("help with examples");
  program.addHelpCommand(help.helpGroup("Keep:"));
  addGlobals(program);
  program.addHelpText("after", FIRST_STEPS);
  const onError = onExit("chronicle [options] [command]", "chronicle -h", (error) => hintOfOption(error));
  program.exitOverride((error) => {
    // If the command is unknown, its options are unknown as well. The error then names the command and not the option.
    const [word = "-"] = program.args;
    if (error.code === "commander.unknownOption" && !word.startsWith("-")) unknownCommand(word, argv);
    return onError(error);
  });
  for (const spec of commandsNamedIn(argv)) addCommand(program, spec, done);
  program.action(() => {
    const [word] = program.args;
    if (word !== undefined) unknownCommand(word, argv);
    done({ spec: undefined, options: { ...program.opts(), bare: true }, args: [] });
  });
  return program;
}

/**
 * Inserts the command `list` into a command line that has no command, begins with an option, and has an option of
 * `list`. For example, `chronicle --limit 3` becomes `chronicle list --limit 3`. Returns any other command line
 * unchanged.
 */
function withList(argv: readonly string[]): readonly string[] {
  const list = COMMANDS.find(({ name }) => name === "list");
  const [first = ""] = argv;
  if (list === undefined || !first.startsWith("-") || first === "--" || commandsNamedIn(argv).length > 0) return argv;
  const own = new Set(list.options.map((option) => optionOf(option).long));
  return argv.some((word) => own.has(word.split("=", 1)[0])) ? [list.name, ...argv] : argv;
}

/**
 * Parses a command line. Returns `undefined` if help or the version was printed. Throws `USAGE` for an invalid command
 * line.
 */
export function parseCommandLine(argv: readonly string[], version: string, sink: HelpSink): Parsed | undefined {
  let parsed: Parsed | undefined;
  const words = withList(argv);
  const program = buildProgram({ argv: words, version }, sink, (result) => {
    parsed = result;
  });
  try {
    program.parse([...words], { from: "user" });
  } catch (error) {
    if (isQuietEnd(error)) return undefined;
    throw error;
  }
  return parsed;
}

function isQuietEnd(error: unknown): boolean {
  return error instanceof Error && error.name === "CommanderError" && "exitCode" in error && error.exitCode === 0;
}
