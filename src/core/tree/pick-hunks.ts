import { type Edit, linesOf, singleEdits } from "./merge-text.ts";

/** The lines from `from` to `to` (inclusive) of a file, counted from 1. */
export interface LineRange {
  readonly from: number;
  readonly to: number;
}

/** The lines that select hunks. */
export interface PickedRange extends LineRange {
  /**
   * True to pick only a hunk whose lines are exactly these lines. Default: each hunk with at least one of these lines
   * is picked.
   */
  readonly isWhole?: boolean;
}

export interface Sides {
  readonly present: Uint8Array;
  /** The content after an undo of the work. Hunks whose undo does not merge with later edits stay. */
  readonly kept: Uint8Array;
  /**
   * The content after an undo of all hunks. Where the undo does not merge with later edits, the undo prevails. The same
   * object as `kept` if all hunks merge.
   */
  readonly wanted: Uint8Array;
}

export interface PickedHunks {
  /** The present content after an undo of the picked hunks, except the hunks that do not merge with later edits. */
  readonly content: Buffer;
  /**
   * The present content after an undo of all picked hunks, including those that do not merge. Omitted if all picked
   * hunks merge.
   */
  readonly wanted?: Buffer;
  /** The lines of all hunks, in the present content. For a deletion, the lines before and after the deleted lines. */
  readonly all: readonly LineRange[];
  /** The first of the given ranges that picks no hunk; `undefined` if each range picks a hunk. */
  readonly missed: LineRange | undefined;
}

/** The reason why single hunks cannot be undone (see `pickHunks`). */
export type NoHunks = "not-text" | "many-lines";

/**
 * Undoes only those hunks of some work that the given lines of the present content pick. If one line of a hunk is
 * given, the whole hunk is undone. A hunk in which the work only deleted lines has no lines in the present content.
 * Such a hunk is undone if the line before or after the deleted lines is given.
 *
 * Returns `not-text` if a content is not text or is too large. Returns `many-lines` if too many lines have changed to
 * find single hunks (see `singleEdits`).
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

/** A hunk of some work. Its lines and its patch describe what an undo of the hunk changes in the present content. */
export interface Hunk extends LineRange {
  /** The lines of the hunk as a unified diff, with its `@@` line. */
  readonly patch: string;
  /** False if the undo of the hunk does not merge with later edits. */
  readonly merges: boolean;
}

/**
 * Returns all hunks of some work, in the order of the present content. If single hunks cannot be found, returns the
 * reason, as `pickHunks` does.
 */
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

/** Returns true if the range picks the hunk at the lines `at`. */
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
