import { EXIT } from "../../../api/problems.ts";
import type { ChangesShape } from "../../../api/action-shapes.ts";
import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";
import { ambiguousLines, changeLines, countsOf, skippedLines } from "../../render/changes.ts";
import { gitLines } from "../../render/git-changes.ts";
import { counted } from "../../render/words.ts";
import { markdownLines } from "../../render/markdown.ts";
import { usageError } from "../../../process/usage-error.ts";
import { patchLines, statLines } from "../../render/patch.ts";
import { printable } from "../../../process/printable.ts";
import { selectionOf } from "../../support/selection.ts";
import type { ChangeShape, CoverageShape, DiffShape } from "../../../api/shapes.ts";
import { isMeant } from "../../../core/records/coverage.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { Input } from "../../../process/input.ts";
import type { UserPaths } from "../../../process/user-path.ts";
import { groupedDigits } from "../../../util/grouped-digits.ts";

/**
 * Reads the arguments. The first two before `--` are the moments (default: `latest` and `now`). All other arguments are
 * paths, as the user typed them.
 */
function readArguments(input: Input): { from: string; to: string; typed: readonly string[] } {
  const [from = "latest", to = "now", ...more] = input.before;
  return { from, to, typed: [...more, ...input.after] };
}

/** The size of the patches, in characters, that are printed before the reader is asked for room. */
const PIECE = 64 * 1024;

/** Returns a function that prints the patches of changes. It resolves to false once nobody reads the output any more. */
function patchPrinter(context: CommandContext): (changes: readonly ChangeShape[]) => Promise<boolean> {
  const { paint, io } = context;
  let printed = 0;
  return async (changes) => {
    const text = patchLines(changes, { paint, escape: io.out.isTerminal }).join("\n");
    if (text !== "") context.print(text);
    printed += text.length;
    if (printed < PIECE) return true;
    printed = 0;
    return context.goesOn();
  };
}

function linesOf(context: CommandContext, result: DiffShape, paths: UserPaths): string[] {
  const { paint, input } = context;
  const shown = (path: string) => paths.shown(path);
  const lines = input.flag("stat")
    ? statLines(result.changes, { paint, shown })
    : changeLines(result.changes, { paint, shown });
  const unknown = notCompared(result);
  const none = unknown.length === 0 ? "no difference" : "no other difference";
  return [
    ...lines,
    ...(unknown.length === 0 ? [] : [paint("yellow", "not compared:")]),
    ...skippedLines(unknown, { paint, shown, most: MOST_NOT_COMPARED }),
    countsOf(result.changes) === "nothing" ? none : countsOf(result.changes),
  ];
}

const MOST_NOT_COMPARED = 100;

/**
 * Returns the paths that were not compared. Of the paths that are left out on purpose, returns only those that are off
 * the record or whose content was erased.
 */
function notCompared({ coverage }: DiffShape): CoverageShape["omitted"] {
  const isUnknown = (one: CoverageShape["omitted"][number]): boolean =>
    !isMeant(one) || one.reason === "off-record" || one.reason === "erased";
  return (coverage?.omitted ?? []).filter(isUnknown);
}

/**
 * Prints on stderr the first of the paths that the patch lacks. They are not printed on stdout, because programs read
 * the patch from there.
 */
function sayNotCompared(context: CommandContext, result: DiffShape): void {
  const unknown = notCompared(result);
  if (unknown.length === 0) return;
  const names = unknown.slice(0, MOST_SAID).map(({ path, reason }) => `${printable(path)} (${printable(reason)})`);
  const more = unknown.length - names.length;
  context.say(`chronicle: not compared: ${names.join(", ")}${more > 0 ? ` and ${groupedDigits(more)} more` : ""}`);
}

const MOST_SAID = 5;

/**
 * Adds a hint to the error for an unknown or invalid moment, because the argument may have been meant as a path.
 * Returns other errors unchanged.
 */
function withPathHint(error: unknown, input: Input): unknown {
  const known =
    error instanceof ChronicleError && ["NOT_FOUND", "USAGE"].includes(error.code) && error.data["path"] === undefined;
  if (!known || input.before.length === 0) return error;
  const { code, message, data, hint } = error;
  const more = "to compare a path, write -- before it: chronicle diff -- PATH";
  return new ChronicleError(code, message, {
    data,
    hint: hint === undefined ? more : `${hint}\n${more}`,
    cause: error,
  });
}

export async function diff(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const { input } = context;
  const { from, to, typed } = readArguments(input);
  const wanted = await Promise.all(typed.map((path) => paths.toWorkspace(path)));
  const patch = input.flag("patch") || input.flag("stat");
  try {
    const printer = input.flag("patch") && !context.json ? patchPrinter(context) : undefined;
    const result = await workspace.diff(from, to, {
      patch,
      renames: input.flag("renames"),
      ...(wanted.length === 0 ? {} : { paths: wanted }),
      ...(printer === undefined ? {} : { onChange: (change) => printer([change]) }),
    });
    // A server has not called `onChange`.
    if (printer !== undefined) await printer(result.changes);
    if (context.json) context.printJson(result);
    else if (printer !== undefined) sayNotCompared(context, result);
    else for (const line of linesOf(context, result, paths)) context.print(line);
    return result.coverage?.complete === false ? EXIT.failed : EXIT.done;
  } catch (error) {
    throw withPathHint(await withCandidates(workspace, error, paths), input);
  }
}

/**
 * Returns true for `--format markdown`. Throws `USAGE` for another format, and if `--patch` or `--json` is given as
 * well.
 */
function isMarkdownAsked({ input, json }: CommandContext): boolean {
  const format = input.text("format");
  if (format === undefined) return false;
  if (format !== "markdown") throw usageError(`there is no format ${JSON.stringify(format)}`, "give --format markdown");
  if (input.flag("patch") || json)
    throw usageError("--format markdown has the patches already, and is no JSON", "leave out --patch and --json");
  return true;
}

const MOST_ACTIONS = 20;

function headLines(context: CommandContext, result: ChangesShape): string[] {
  const actions = result.actions.length === 0 ? "" : `: ${counted(result.actions.length, "action")}`;
  const shown = result.actions.slice(0, MOST_ACTIONS);
  const more = result.actions.length - shown.length;
  return [
    `${printable(result.selection)}${actions}`,
    ...shown.map((one) => context.paint("dim", `  ${one.id.slice(0, 8)}  ${printable(one.action_summary)}`)),
    ...(more > 0 ? [`  … and ${groupedDigits(more)} more`] : []),
  ];
}

export async function changes(context: CommandContext): Promise<number> {
  const workspace = await context.reading();
  const { input, paint, io } = context;
  const isMarkdown = isMarkdownAsked(context);
  const patch = input.flag("patch") || isMarkdown;
  const given = await selectionOf(context, workspace);
  const selection = Object.keys(given).length === 0 ? { turn: "last" } : given;
  const result = await workspace
    .changes(selection, { patch, renames: input.flag("renames") })
    .catch(async (error: unknown) => {
      throw await withCandidates(workspace, error, context.paths(workspace));
    });
  if (context.json) {
    context.printJson(result);
    return EXIT.done;
  }
  if (isMarkdown) {
    const { selection: what, notes = [], ...rest } = result;
    for (const line of markdownLines({ what, notes, ...rest })) context.print(line);
    return EXIT.done;
  }
  if (patch) {
    for (const line of patchLines(result.changes, { paint, escape: io.out.isTerminal })) context.print(line);
    return EXIT.done;
  }
  const paths = context.paths(workspace);
  const style = { paint, shown: (path: string) => paths.shown(path) };
  for (const line of headLines(context, result)) context.print(line);
  for (const line of changeLines(result.changes, style)) context.print(line);
  for (const line of gitLines(result.git)) context.print(line);
  const isNothing = result.changes.length + result.ambiguous.length + (result.git?.length ?? 0) === 0;
  if (result.changes.length > 0) context.print(countsOf(result.changes));
  else if (result.ambiguous.length > 0) context.print("no change certainly belongs to this work");
  else context.print(isNothing ? "nothing was changed" : "no file was changed");
  for (const line of ambiguousLines(result.ambiguous, { ...style, worded: context.worded })) context.print(line);
  for (const note of result.notes ?? []) context.print(`note: ${printable(note)}`);
  return EXIT.done;
}
