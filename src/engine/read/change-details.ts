import type { ChangeShape } from "../../api/shapes.ts";
import { DiffBudget } from "../../core/text/text-diff.ts";
import type { Renames } from "../../core/tree/renames.ts";
import type { Change } from "../../core/values/entry.ts";
import type { Context } from "../log/context.ts";
import { changeShape } from "../log/shape.ts";
import { countedLines, isLarge, isOfText } from "./line-counts.ts";
import { Patches } from "./patches.ts";
import { RenameBudget, renameParts, renamesAmong } from "./renames.ts";

/**
 * The maximum number of files of one answer in which lines are counted, and the maximum total size of their contents,
 * in bytes.
 */
const MOST_FILES = 100;
const MOST_BYTES = 8 * 1024 ** 2;

/** The maximum number of steps of all comparisons for one answer. This many steps take about a tenth of a second. */
const MOST_STEPS = 2_000_000;

/**
 * Returns the shapes of changes with details for people. The details say which deleted and created files are one
 * renamed file. The details also say how many lines were added and removed in each modified or renamed file. The work
 * for the details is bounded. Even an answer with very many changes is therefore delayed only a little. `made`:
 * contents that may be in no store yet.
 */
export async function detailedShapes(
  context: Context,
  changes: readonly Change[],
  made: readonly Uint8Array[] = [],
): Promise<ChangeShape[]> {
  if (changes.length === 0) return [];
  const renames = await renamesAmong(context, changes, new RenameBudget({ files: 100, bytes: MOST_BYTES, steps: 1e6 }));
  const partOf = await renameParts(renames, undefined);
  const linesOf = await lineParts(context, { changes, renames, made });
  return changes.map((change) => ({ ...changeShape(change), ...partOf(change), ...linesOf(change) }));
}

type LinePart = Pick<ChangeShape, "lines">;

/**
 * Counts the added and removed lines of modified and renamed files, in the order of the changes, until the budget is
 * spent. Returns a function that gives the counts of a change, or `{}` if they were not counted.
 */
export async function lineParts(
  context: Context,
  { changes, renames, made = [] }: { changes: readonly Change[]; renames: Renames; made?: readonly Uint8Array[] },
): Promise<(change: Change) => LinePart> {
  const budget = new DiffBudget(MOST_STEPS);
  const patches = new Patches(context, made, budget);
  const parts = new Map<Change, LinePart>();
  let [files, bytes] = [MOST_FILES, MOST_BYTES];
  for (const change of changes) {
    const whole = { ...change, before: change.before ?? renames.get(change.path)?.gone.before };
    if (whole.before === undefined || whole.after === undefined || !isOfText(whole) || isLarge(whole)) continue;
    files -= 1;
    bytes -= whole.before.size + whole.after.size;
    if (files < 0 || bytes < 0) break;
    const lines = await countedLines(patches, whole);
    // Once the budget is spent, a comparison is no longer exact, and would count more lines than have changed.
    if (budget.isCoarse) break;
    if (lines !== undefined && lines !== "none") parts.set(change, { lines });
  }
  return (change) => parts.get(change) ?? {};
}
