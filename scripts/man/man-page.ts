import { usageOf } from "../../src/cli/program.ts";
import { COMMANDS } from "../../src/cli/table/command-table.ts";
import {
  type ArgumentSpec,
  type CommandSpec,
  describedWith,
  detailsOf,
  type ExampleSpec,
  GLOBAL_OPTIONS,
  type OptionSpec,
} from "../../src/cli/table/spec.ts";

/** The meanings of the exit codes, as `chronicle -h` and docs/cli.md have them. */
const EXIT_CODES: readonly (readonly [code: string, meaning: string])[] = [
  ["0", "Done."],
  ["1", "Failed, or done in part: paths were left alone, or something was not recorded or not signed."],
  ["2", "The command line was not understood."],
  ["3", "A workspace, moment, path or session was not found."],
  ["4", "Damage was found, or there is no proof."],
  ["5", "Another process holds a lock."],
  ["6", "Refused."],
  ["122, 125", "See run."],
];

/** Returns the manual page in the macros of man(7), which groff and mandoc read. */
export function manPage(): string {
  const visible = COMMANDS.filter((spec) => spec.hidden !== true);
  const groups = [...new Set(visible.map((spec) => spec.group))];
  const lines = [
    '.\\" Made from the table of commands by scripts/make-man.ts.',
    '.TH CHRONICLE 1 "" "Chronicle" "User Commands"',
    // Text is not justified, and no word is divided: commands can be copied.
    ".ad l",
    ".nh",
    ".SH NAME",
    "chronicle \\- the flight recorder and the undo button for the work of AI agents on files",
    ".SH SYNOPSIS",
    ".B chronicle",
    "[command] [options]",
    ".SH DESCRIPTION",
    ...paragraph(
      "Chronicle records what agents, commands and people do to the files of a folder, and takes any of it back. A bare " +
        "chronicle is chronicle list: recent work, and how to go back. chronicle COMMAND -h prints the help of one command.",
    ),
    ".SH OPTIONS EVERYWHERE",
    ...optionLines(GLOBAL_OPTIONS),
    ...groups.flatMap((group) => [
      `.SH ${escaped(group.toUpperCase())}`,
      ...visible.filter((spec) => spec.group === group).flatMap(commandLines),
    ]),
    ".SH EXIT STATUS",
    ...EXIT_CODES.flatMap(([code, meaning]) => [".TP", `.B ${code}`, ...textLines(meaning)]),
    ".SH SEE ALSO",
    ...paragraph("The pages in the folder docs of the package. docs/README.md lists them by what one wants to do."),
  ];
  return `${lines.join("\n")}\n`;
}

function commandLines(spec: CommandSpec): string[] {
  const details = detailsOf(spec);
  const summary = `${spec.summary[0]?.toUpperCase() ?? ""}${spec.summary.slice(1)}.`;
  return [
    `.SS chronicle ${escaped(spec.name)}`,
    `.B chronicle ${escaped(spec.name)}`,
    ...textLines(usageOf(spec)),
    ...paragraph(details === undefined ? summary : `${summary} ${details}`),
    ...(spec.localOnly === undefined ? [] : paragraph(`Not with --remote: ${spec.localOnly.instead}.`)),
    ...spec.args.flatMap(argumentLines),
    ...optionLines(spec.options),
    ...exampleLines(spec.examples),
  ];
}

function argumentLines(arg: ArgumentSpec): string[] {
  return [".TP", `.I ${escaped(arg.name)}`, ...textLines(describedWith(arg))];
}

function optionLines(options: readonly OptionSpec[]): string[] {
  return options.flatMap((option) => {
    const again = option.repeated === true ? " (may be repeated)" : "";
    return [".TP", `.B ${escaped(option.flags)}`, ...textLines(`${describedWith(option)}${again}`)];
  });
}

function exampleLines(examples: readonly ExampleSpec[]): string[] {
  if (examples.length === 0) return [];
  const lines = examples.flatMap(({ line, why }) => [`# ${why}`, line]);
  return [".PP", "Examples:", ".PP", ".nf", ...lines.flatMap(textLines), ".fi"];
}

function paragraph(text: string): string[] {
  return [".PP", ...textLines(text)];
}

/** Returns a text as lines of which none begins a request. */
function textLines(text: string): string[] {
  return text.split("\n").map((line) => escaped(line).replace(/^(?=[.'])/, "\\&"));
}

/** Escapes what roff would change: backslashes, and the characters that it sets as typographic ones. */
function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replaceAll("`", "\\(ga")
    .replaceAll("'", "\\(aq")
    .replaceAll("^", "\\(ha")
    .replaceAll("~", "\\(ti")
    .replaceAll("…", "...")
    .replaceAll("–", "\\(en");
}
