import { diffArrays } from "diff";

/** The three texts of a conflict. Lines end with line feeds. */
export interface Sides {
  /** The state from which both sides come. */
  readonly base: string;
  readonly current: string;
  /** The text of the undo or of the origin. */
  readonly other: string;
}

/** Neighbouring lines that the other side has changed, and the corresponding lines of the current state. */
export interface MergePart {
  readonly current: string;
  readonly other: string;
  /** The position of the part in the current text, in characters. `otherFrom` is its position in the other text. */
  readonly currentFrom: number;
  readonly otherFrom: number;
  /** True if the current state also changes these lines, so that one of the two changes must be given up. */
  readonly isDisputed: boolean;
}

/** Neighbouring lines that are equal in the current and in the other text. */
export interface EqualLines {
  readonly currentFrom: number;
  readonly otherFrom: number;
  readonly text: string;
}

/** The lines of two sides: those that are to be merged, and those that are equal. Both are in order. */
export interface MergedSides {
  readonly parts: readonly MergePart[];
  readonly equal: readonly EqualLines[];
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly lines: readonly string[];
  readonly isOther: boolean;
}

/**
 * The maximum number of added and removed lines in a difference. A text that differs in more lines is treated as a
 * single edit.
 */
const MOST_EDITS = 2_000;

/**
 * Returns the parts that differ, and the lines that are equal. Lines that only the current state has changed are
 * neither. If the current state has no changes of its own, and each part of it is replaced with the other side, the
 * result equals the other text byte for byte.
 */
export function mergeSides({ base, current, other }: Sides): MergedSides {
  const old = linesOf(base);
  const edits = [...editsOf(old, linesOf(current), false), ...editsOf(old, linesOf(other), true)].toSorted(
    (a, b) => a.start - b.start,
  );
  const parts: MergePart[] = [];
  const equal: EqualLines[] = [];
  const addEqual = (lines: EqualLines): void => {
    const last = equal.at(-1);
    const isNext = last !== undefined && last.currentFrom + last.text.length === lines.currentFrom;
    if (isNext && last.otherFrom + last.text.length === lines.otherFrom)
      equal[equal.length - 1] = { ...last, text: last.text + lines.text };
    else if (lines.text !== "") equal.push(lines);
  };
  let at = 0;
  let [currentFrom, otherFrom] = [0, 0];
  for (const group of grouped(edits)) {
    const start = group[0]?.start ?? 0;
    const end = Math.max(...group.map((edit) => edit.end));
    const same = old.slice(at, start).join("");
    addEqual({ currentFrom, otherFrom, text: same });
    currentFrom += same.length;
    otherFrom += same.length;
    const [here, there] = [false, true].map((isOther) => sideOf(old, group, { isOther, start, end }));
    const isTouched = group.some(({ isOther }) => isOther);
    if (here === there) addEqual({ currentFrom, otherFrom, text: here ?? "" });
    else if (isTouched) {
      const isDisputed = group.some(({ isOther }) => !isOther);
      parts.push({ current: here ?? "", other: there ?? "", currentFrom, otherFrom, isDisputed });
    }
    currentFrom += here?.length ?? 0;
    otherFrom += there?.length ?? 0;
    at = end;
  }
  addEqual({ currentFrom, otherFrom, text: old.slice(at).join("") });
  return { parts, equal };
}

/** The number of equal lines that stay visible beside each difference, and the fewest lines that are folded. */
const MARGIN = 3;
const FEWEST = 6;

/** Equal lines that are not needed to understand the differences, without the line feed of the last line. */
export interface FoldedLines extends EqualLines {
  readonly lines: number;
}

/** Returns the equal lines to fold: all that are not right beside a difference. Short pieces are not folded. */
export function foldedLines({ current, other }: Sides, { parts, equal }: MergedSides): readonly FoldedLines[] {
  if (parts.length === 0) return [];
  return equal.flatMap((one) => {
    const lines = linesOf(one.text);
    const first = one.currentFrom === 0 && one.otherFrom === 0 ? 0 : MARGIN;
    const isLast = isEnd(current, one.currentFrom, one) && isEnd(other, one.otherFrom, one);
    const end = lines.length - (isLast ? 0 : MARGIN);
    if (end - first < FEWEST) return [];
    const skipped = lines.slice(0, first).join("").length;
    const text = lines.slice(first, end).join("").replace(/\n$/, "");
    const [currentFrom, otherFrom] = [one.currentFrom + skipped, one.otherFrom + skipped];
    return [{ currentFrom, otherFrom, text, lines: end - first }];
  });
}

function isEnd(side: string, from: number, { text }: EqualLines): boolean {
  return from + text.length === side.length;
}

/** Returns the current side of a part, followed by the other side. Each of them begins on a new line. */
export function bothOf({ current, other }: Pick<MergePart, "current" | "other">): string {
  const isOpen = current !== "" && other !== "" && !current.endsWith("\n");
  return `${current}${isOpen ? "\n" : ""}${other}`;
}

/** Returns the edits in groups. Edits of the same or neighbouring lines are one group. */
function grouped(edits: readonly Edit[]): readonly (readonly Edit[])[] {
  const groups: Edit[][] = [];
  let end = -1;
  for (const edit of edits) {
    if (edit.start <= end) groups.at(-1)?.push(edit);
    else groups.push([edit]);
    end = Math.max(end, edit.end);
  }
  return groups;
}

interface Region {
  readonly isOther: boolean;
  readonly start: number;
  readonly end: number;
}

function sideOf(base: readonly string[], group: readonly Edit[], { isOther, start, end }: Region): string {
  let text = "";
  let at = start;
  for (const edit of group) {
    if (edit.isOther !== isOther) continue;
    text += base.slice(at, edit.start).join("") + edit.lines.join("");
    at = edit.end;
  }
  return text + base.slice(at, end).join("");
}

/** Returns the lines of a text, each with its line feed. The last line can lack a line feed. */
function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function editsOf(base: readonly string[], side: readonly string[], isOther: boolean): readonly Edit[] {
  const found = diffArrays([...base], [...side], { maxEditLength: MOST_EDITS });
  if (found === undefined) return [{ start: 0, end: base.length, lines: side, isOther }];
  const edits: Edit[] = [];
  let at = 0;
  let isOpen = false;
  for (const { added, removed, value } of found) {
    if (!added && !removed) {
      at += value.length;
      isOpen = false;
      continue;
    }
    const before = isOpen ? edits.pop() : undefined;
    const start = before?.start ?? at;
    if (removed) at += value.length;
    edits.push({ start, end: at, lines: [...(before?.lines ?? []), ...(added ? value : [])], isOther });
    isOpen = true;
  }
  return edits;
}
