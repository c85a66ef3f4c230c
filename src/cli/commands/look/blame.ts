import { EXIT } from "../../../api/problems.ts";
import type { BlameOptions, BlameShape } from "../../../api/file-api.ts";
import { ChronicleError } from "../../../core/values/errors.ts";
import type { CommandContext } from "../../support/context.ts";
import { withCandidates } from "../../support/find-file.ts";
import { originCells, shortOriginCells } from "../../render/origins.ts";
import { columns, isNarrow } from "../../render/columns.ts";
import type { TimelineContext } from "../../render/timeline.ts";
import { greatestOf } from "../../../util/long-lists.ts";
import { printable, printableText, shortened, widthOf } from "../../../process/printable.ts";
import { usageError } from "../../../process/usage-error.ts";
import { optional } from "../../../util/optional.ts";

/**
 * Parses a range of lines: `10` (one line), `10,20` (first and last line), `10,` (to the end of the file) or `10,+5`
 * (first line and number of lines).
 */
function linesIn(range: string | undefined): Pick<BlameOptions, "fromLine" | "toLine"> {
  if (range === undefined) return {};
  const match = /^(\d{1,9})(?:(,)(?:(\+?)(\d{1,9}))?)?$/.exec(range);
  const fromLine = Number(match?.[1] ?? 0);
  if (match === null || fromLine < 1)
    throw usageError(
      `not lines of a file: ${range}`,
      "give them as 10, 10,20 (from, to), 10,+5 (from, how many) or 10,",
    );
  const [, , comma, plus, second] = match;
  if (second === undefined) return comma === undefined ? { fromLine, toLine: fromLine } : { fromLine };
  const toLine = plus === "+" ? fromLine + Number(second) - 1 : Number(second);
  if (toLine < fromLine) throw usageError(`not lines of a file: ${range}`, "the last line comes after the first");
  return { fromLine, toLine };
}

type BlameContext = Pick<CommandContext, "paint"> & { readonly io: TimelineContext["io"] };

/**
 * Returns one line for each line of the file. A column that is empty in all lines is left out. On a terminal, the lines
 * fit its width: long lines of the file are cut. Origins are shortened if they would take more than half of the width.
 */
export function blameLines(context: BlameContext, found: BlameShape, shown: (path: string) => string): string[] {
  const { out } = context.io;
  const full = headsOf(context, found, fullHeads(context, found, shown));
  if (!out.isTerminal) return found.lines.map(({ text }, i) => `${full[i]}  ${text}`.trimEnd());
  const fits = !isNarrow(out) && greatestOf(full.map(widthOf)) <= out.columns / 2;
  const heads = fits ? full : headsOf(context, found, shortHeads(context, found, shown));
  const room = Math.max(1, out.columns - greatestOf(heads.map(widthOf)) - 2);
  return found.lines.map(({ text }, i) =>
    `${heads[i]}  ${shortened(withoutTabs(printableText(text)), room)}`.trimEnd(),
  );
}

const TAB = 8;

/** Replaces tabs by spaces, because the width of a tab depends on its column. */
function withoutTabs(text: string): string {
  const [first = "", ...rest] = text.split("\t");
  return rest.reduce((line, part) => line + " ".repeat(TAB - (widthOf(line) % TAB)) + part, first);
}

/**
 * Returns the text before each line of the file: the cells of the line's origin, and the line's number. `heads` has the
 * cells of each origin.
 */
function headsOf({ paint }: BlameContext, { lines }: BlameShape, heads: readonly (readonly string[])[]): string[] {
  const [first = []] = heads;
  const isUsed = first.map((_, at) => heads.some((cells) => widthOf(cells[at] ?? "") > 0));
  return columns(
    lines.map(({ origin, line }) => [
      ...(heads[origin] ?? []).filter((_, at) => isUsed[at]),
      paint("dim", String(line)),
    ]),
    "<".repeat(isUsed.filter(Boolean).length) + ">",
  );
}

function fullHeads({ paint, io }: BlameContext, { path, origins }: BlameShape, shown: (path: string) => string) {
  return origins.map((origin) => {
    const [id, who, turn, when] = originCells(origin, io.now());
    const from = origin.path === path ? "" : shown(origin.path);
    return [paint("yellow", id), paint("cyan", printable(who)), paint("dim", turn), from, paint("dim", when)];
  });
}

/** The maximum width, in columns, of an earlier path if origins are shortened. */
const LONGEST_FROM = 12;

function shortHeads({ paint, io }: BlameContext, { path, origins }: BlameShape, shown: (path: string) => string) {
  return origins.map((origin) => {
    const [id, who, when] = shortOriginCells(origin, io.now());
    const from = origin.path === path ? "" : shortened(shown(origin.path), LONGEST_FROM);
    return [paint("yellow", id), paint("cyan", who), from, paint("dim", when)];
  });
}

export async function blame(context: CommandContext): Promise<number> {
  const { input } = context;
  const range = linesIn(input.text("lines"));
  const workspace = await context.reading();
  const paths = context.paths(workspace);
  const path = await paths.toWorkspace(input.args[0] ?? "");
  const at = input.text("at");
  const found = await workspace.blame(path, { ...range, ...optional({ at }) }).catch(async (error: unknown) => {
    // Only the error for a path that was never recorded has `candidates`. The error for a path that did not exist at
    // the given moment is thrown unchanged.
    const isUnknown = error instanceof ChronicleError && error.data["candidates"] !== undefined;
    throw isUnknown ? await withCandidates(workspace, error, paths) : error;
  });
  if (context.json) {
    context.printJson(found);
    return EXIT.done;
  }
  for (const line of blameLines(context, found, (path) => paths.shown(path))) context.print(line);
  if (found.deleted === true) context.say("the file is deleted; these are the lines of its last content");
  if (found.total_lines === 0) context.say("the file is empty");
  for (const note of found.notes) context.say(printable(note));
  if (context.io.err.isTerminal && found.origins.some(({ action }) => action !== undefined))
    context.say(context.paintErr("dim", context.worded("chronicle changes --action ID -p shows the whole change")));
  return EXIT.done;
}
