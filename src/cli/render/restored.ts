import type { RestoreShape } from "../../api/shapes.ts";
import { changeLines, type ChangesStyle, countsOf, skippedLines } from "./changes.ts";
import { counted } from "./words.ts";
import { printable } from "../../process/printable.ts";

const MOST_LINES = 100;

/** Returns how many changes to list: all for a dry run, none (0) if they were shown before, else the first hundred. */
export function mostLines(result: RestoreShape, asked: boolean): number {
  if (asked) return 0;
  return result.dry_run ? result.changes.length : MOST_LINES;
}

/** Returns lines on what a restore did or would do: its changes, and everything that was skipped or kept aside. */
export function restoredLines(result: RestoreShape, style: ChangesStyle): string[] {
  const { paint } = style;
  return [
    ...(style.most === 0 ? [] : changeLines(result.changes, style)),
    ...(result.skipped.length === 0 ? [] : [paint("yellow", "left as they are:")]),
    ...skippedLines(result.skipped, { paint, shown: style.shown }),
    ...(result.conflicts.length === 0 ? [] : [paint("yellow", "changed meanwhile; the other content is kept:")]),
    ...result.conflicts.map(({ path, kept_at }) => `  ${style.shown(path)} → ${printable(kept_at)}`),
  ];
}

/** `3 modified, 1 deleted`, as the sentence that ends a restore. */
export function restoredSentence(result: RestoreShape, verb: string): string {
  if (result.changes.length > 0) return `${verb}: ${countsOf(result.changes)}`;
  // Their paths are named in the notes.
  const aside = result.kept_aside?.length ?? 0;
  if (aside > 0) return `${verb}: ${counted(aside, "path")} that the rules leave out`;
  if (result.skipped.length > 0) return "nothing was changed";
  return "nothing to change: it is like that already";
}
