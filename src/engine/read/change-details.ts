import type { ChangeShape } from "../../api/shapes.ts";
import { DiffBudget } from "../../core/text/text-diff.ts";
import type { Renames } from "../../core/tree/renames.ts";
import type { Change } from "../../core/values/entry.ts";
import type { Context } from "../log/context.ts";
import { changeShape } from "../log/shape.ts";
import { countedLines, isLarge, isOfText } from "./line-counts.ts";
import { Patches } from "./patches.ts";
import { RenameBudget, renameParts, renamesAmong } from "./renames.ts";

/** Lines are counted in at most this many files of one answer, and in contents of so many bytes. */
const MOST_FILES = 100;
const MOST_BYTES = 8 * 1024 ** 2;

/** The number of steps that all searches for the differences of one answer may take: about a tenth of a second. */
const MOST_STEPS = 2_000_000;

/**
 * Returns changes with what people are shown of them: which deleted and created files are one renamed file, and how many
 * lines of a modified or renamed file were added and removed. The whole work is bounded, so that the answer about very
 * many changes takes little longer than without. `made`: contents that may be in no store yet.
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

/** Returns the counted lines of each modified and each renamed file, in the order of the changes until the budget is spent. */
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
    // A search that was given up would count more lines than have changed.
    if (budget.isCoarse) break;
    if (lines !== undefined && lines !== "none") parts.set(change, { lines });
  }
  return (change) => parts.get(change) ?? {};
}
