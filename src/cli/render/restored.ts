import type { RestoreShape, SkippedShape, UndoShape } from "../../api/shapes.ts";
import { changeLines, type ChangesStyle, countsOf, skippedLines } from "./changes.ts";
import { gitLines } from "./git-changes.ts";
import { counted } from "./words.ts";

const MOST_LINES = 100;

/**
 * Returns the maximum number of changes to list: all in a dry run, else `MOST_LINES`. `asked`: true if the user was
 * asked for confirmation, and so has already seen the first changes. In that case, the result is 0.
 */
export function mostLines(result: RestoreShape, asked: boolean): number {
  if (asked) return 0;
  return result.dry_run ? result.changes.length : MOST_LINES;
}

export function restoredLines(
  result: RestoreShape & Partial<Pick<UndoShape, "direction">>,
  style: ChangesStyle,
): string[] {
  const changed = new Set(result.changes.map(({ path }) => path));
  const isPart = ({ path, reason }: SkippedShape): boolean => reason === "special-bits" && changed.has(path);
  const part = result.skipped.filter(isPart);
  const left = result.skipped.filter((one) => !isPart(one));
  return [
    ...(style.most === 0 ? [] : changeLines(result.changes, style)),
    ...gitLines(result.git, { back: result.direction !== "redo" }),
    ...headed("left as they are:", left, style),
    ...headed("not as it was:", part, style),
    ...copyLines(result.conflicts, style),
  ];
}

function headed(
  head: string,
  skipped: RestoreShape["skipped"],
  { paint, shown }: Pick<ChangesStyle, "paint" | "shown">,
): string[] {
  return skipped.length === 0 ? [] : [paint("yellow", head), ...skippedLines(skipped, { paint, shown })];
}

/**
 * Returns lines about contents that others wrote during the operation: the paths of the kept copies, and the next step.
 */
export function copyLines(
  conflicts: RestoreShape["conflicts"],
  { paint, shown }: Pick<ChangesStyle, "paint" | "shown">,
): string[] {
  if (conflicts.length === 0) return [];
  return [
    paint("yellow", "changed meanwhile; the other content is kept:"),
    ...conflicts.map(({ path, kept_at: at }) => `  ${shown(path)} → ${shown(at)}`),
    paint("dim", "compare each copy with its file, and remove the copies that you do not need"),
  ];
}

export function restoredSentence(result: RestoreShape, verb: string): string {
  if (result.changes.length > 0) return `${verb}: ${countsOf(result.changes)}`;
  // The sentence has only the number of paths that were kept aside, because the notes name these paths.
  const aside = result.kept_aside?.length ?? 0;
  if (aside > 0) return `${verb}: ${counted(aside, "path")} that the rules leave out`;
  if ((result.git?.length ?? 0) > 0) return `${verb}: the state of git`;
  if (result.skipped.length > 0) return "nothing was changed";
  return "nothing to change: everything is like that already";
}
