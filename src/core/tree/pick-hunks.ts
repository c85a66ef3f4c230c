import { type Edit, linesOf, singleEdits } from "./merge-text.ts";

/** Lines of a file, counted from 1. Both are included. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

/** Lines by which hunks are picked. */
export interface PickedRange extends LineRange {
  /** True if only the hunk is meant whose lines are exactly these. Default: each hunk at one of these lines. */
  readonly isWhole?: boolean;
}

export interface Sides {
  readonly present: Uint8Array;
  /** The content without the work, as far as the work merges with later edits. */
  readonly kept: Uint8Array;
  /** The content that the undo of the work wants, also where it does not merge. The object `kept` if all merges. */
  readonly wanted: Uint8Array;
}

export interface PickedHunks {
  /** The present content with the hunks at these lines undone, except those that do not merge. */
  readonly content: Buffer;
  /** The content with the hunks undone that do not merge, too. `undefined` if all hunks at these lines merge. */
  readonly wanted?: Buffer;
  /** The lines of all hunks, in the present content. For a deletion, the lines at both sides of its gap. */
  readonly all: readonly LineRange[];
  /** The first of the given lines at which there is no hunk. */
  readonly missed: LineRange | undefined;
}

/** The reason why there are no single hunks: see `pickHunks`. */
export type NoHunks = "not-text" | "many-lines";

/**
 * Undoes only those hunks of some work that lie at the given lines of the present content. A hunk of which one line is
 * among them is undone whole. A deletion has no lines: it is undone if a line at either side of its gap is among them.
 * Returns `not-text` if a content is not text or is too large, and `many-lines` if so many lines have changed that single
 * hunks cannot be told apart (see `singleEdits`).
 */
export function pickHunks(sides: Sides, ranges: readonly PickedRange[]): PickedHunks | NoHunks {
  const found = editsOf(sides);
  if (typeof found === "string") return found;
  const { now, edits, unmerged } = found;
  const isTouched = (edit: Edit): boolean => ranges.some((range) => isAt(edit, range));
  const [picked, met] = [edits.filter(isTouched), unmerged.filter(isTouched)];
  const apart = picked.filter((edit) => !met.some((one) => edit.start <= one.end && one.start <= edit.end));
  return {
    content: applied(now, picked),
    ...(met.length === 0 ? {} : { wanted: applied(now, [...apart, ...met]) }),
    all: [...edits, ...unmerged].sort((a, b) => a.start - b.start).map(linesAt),
    missed: ranges.find((range) => ![...picked, ...met].some((edit) => isAt(edit, range))),
  };
}

/** A hunk of some work, as its undo changes the present content. */
export interface Hunk extends LineRange {
  /** The lines of the hunk as a unified diff, with its `@@` line. */
  readonly patch: string;
  /** False if the undo of the hunk does not merge with later edits. */
  readonly merges: boolean;
}

/** Returns all hunks of some work, in the order of the present content. Returns the same reasons as `pickHunks`. */
export function hunksOf(sides: Sides): readonly Hunk[] | NoHunks {
  const found = editsOf(sides);
  if (typeof found === "string") return found;
  const { now, edits, unmerged } = found;
  const told = (merges: boolean) => (edit: Edit) => ({ edit, merges });
  const all = [...edits.map(told(true)), ...unmerged.map(told(false))];
  all.sort((a, b) => a.edit.start - b.edit.start);
  return all.map(({ edit, merges }) => ({ ...linesAt(edit), patch: patchOf(now, edit), merges }));
}

function editsOf({ present, kept, wanted }: Sides) {
  const [now, free] = [linesOf(present), linesOf(kept)];
  const full = wanted === kept ? free : linesOf(wanted);
  if (now === undefined || free === undefined || full === undefined) return "not-text";
  const edits = singleEdits(now, free);
  const all = full === free ? edits : singleEdits(now, full);
  if (edits === undefined || all === undefined) return "many-lines";
  if (all === edits) return { now, edits, unmerged: [] };
  const known = new Set(edits.map(keyOf));
  return { now, edits, unmerged: all.filter((edit) => !known.has(keyOf(edit))) };
}

function keyOf({ start, end, lines }: Edit): string {
  return JSON.stringify([start, end, lines]);
}

function linesAt({ start, end }: Edit): LineRange {
  return start === end ? { from: Math.max(1, start), to: start + 1 } : { from: start + 1, to: end };
}

function isAt(edit: Edit, range: PickedRange): boolean {
  return isPicked(linesAt(edit), range);
}

/** True if the range picks the hunk at these lines. */
export function isPicked(at: LineRange, { from, to, isWhole }: PickedRange): boolean {
  return isWhole === true ? at.from === from && at.to === to : at.from <= to && from <= at.to;
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

/** The number of unchanged lines that a patch shows before and after a hunk. */
const AROUND = 3;

function patchOf(now: readonly string[], { start, end, lines }: Edit): string {
  const [first, last] = [Math.max(0, start - AROUND), Math.min(now.length, end + AROUND)];
  const [old, fresh] = [last - first, last - first - (end - start) + lines.length];
  const at = (count: number): string => `${count === 0 ? first : first + 1},${count}`;
  const signed = (sign: string) => (line: string) =>
    `${sign}${line}${line.endsWith("\n") ? "" : "\n\\ No newline at end of file\n"}`;
  return [
    `@@ -${at(old)} +${at(fresh)} @@\n`,
    ...now.slice(first, start).map(signed(" ")),
    ...now.slice(start, end).map(signed("-")),
    ...lines.map(signed("+")),
    ...now.slice(end, last).map(signed(" ")),
  ].join("");
}
