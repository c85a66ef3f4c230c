import { type Edit, linesOf, singleEdits } from "./merge-text.ts";

/** Lines of a file, counted from 1. Both are included. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

interface Sides {
  readonly present: Uint8Array;
  /** The content without the work, as far as the work merges with later edits. */
  readonly kept: Uint8Array;
  /** The content that the undo of the work wants, also where it does not merge. The same as `kept` if all merges. */
  readonly wanted: Uint8Array;
}

export interface PickedHunks {
  /** The present content with the hunks at these lines undone, except those that do not merge. */
  readonly content: Buffer;
  /** The content with the hunks undone that do not merge, too. `undefined` if all hunks at these lines merge. */
  readonly wanted?: Buffer;
  /** The lines of all hunks, in the present content. For a deletion, the lines at both sides of its gap. */
  readonly all: readonly LineRange[];
  /** The number of hunks at the given lines, with those that do not merge. */
  readonly touched: number;
}

/**
 * Undoes only those hunks of some work that lie at the given lines of the present content. A hunk of which one line is
 * among them is undone whole. A deletion has no lines: it is undone if a line at either side of its gap is among them.
 * Returns `not-text` if a content is not text or is too large, and `many-lines` if so many lines have changed that single
 * hunks cannot be told apart (see `singleEdits`).
 */
export function pickHunks({ present, kept, wanted }: Sides, range: LineRange): PickedHunks | "not-text" | "many-lines" {
  const [now, free, full] = [linesOf(present), linesOf(kept), linesOf(wanted)];
  if (now === undefined || free === undefined || full === undefined) return "not-text";
  const [edits, all] = [singleEdits(now, free), singleEdits(now, full)];
  if (edits === undefined || all === undefined) return "many-lines";
  const known = new Set(edits.map(keyOf));
  const unmerged = all.filter((edit) => !known.has(keyOf(edit)));
  const isTouched = (edit: Edit): boolean => isAt(edit, range);
  const [picked, met] = [edits.filter(isTouched), unmerged.filter(isTouched)];
  const apart = picked.filter((edit) => !met.some((one) => edit.start <= one.end && one.start <= edit.end));
  return {
    content: applied(now, picked),
    ...(met.length === 0 ? {} : { wanted: applied(now, [...apart, ...met]) }),
    all: [...edits, ...unmerged].sort((a, b) => a.start - b.start).map(linesAt),
    touched: picked.length + met.length,
  };
}

function keyOf({ start, end, lines }: Edit): string {
  return JSON.stringify([start, end, lines]);
}

function linesAt({ start, end }: Edit): LineRange {
  return start === end ? { from: Math.max(1, start), to: start + 1 } : { from: start + 1, to: end };
}

function isAt(edit: Edit, { from, to }: LineRange): boolean {
  const at = linesAt(edit);
  return at.from <= to && from <= at.to;
}

function applied(base: readonly string[], edits: readonly Edit[]): Buffer {
  const parts: string[] = [];
  let at = 0;
  for (const { start, end, lines } of [...edits].sort((a, b) => a.start - b.start)) {
    parts.push(base.slice(at, start).join(""), lines.join(""));
    at = end;
  }
  return Buffer.from([...parts, base.slice(at).join("")].join(""));
}
