import { type DiffBudget, keptLines } from "./text-diff.ts";

/**
 * The lines of a content. A line has all bytes up to and including its newline. Thus CRLF, a missing last newline, and
 * bytes that are not UTF-8 are compared exactly.
 */
export interface LineTable {
  readonly content: Buffer;
  /** The offsets of the lines' first bytes in the content, ascending. */
  readonly starts: Int32Array;
  /**
   * A number for the bytes of each line. Equal lines have equal numbers in all tables of one `LineTables`, as long as
   * this `LineTables` remembers the number.
   */
  readonly ids: Int32Array;
}

/**
 * Lines of one content of a file, for which the author is still searched in earlier contents. Lines are counted from 0.
 */
export interface PendingLines {
  /** The indexes of the lines in this content, ascending. */
  readonly at: readonly number[];
  /** The indexes of the same lines in the content at which the search began. */
  readonly lines: readonly number[];
}

/** The pending lines of a content, divided into those that an earlier content also has and those that it lacks. */
export interface PassedLines {
  /** The lines that the earlier content also has, with their indexes in the earlier content. */
  readonly passed: PendingLines;
  /** The lines that the earlier content lacks, with their indexes in the later content. */
  readonly kept: PendingLines;
}

/** The result of the comparison of an earlier content with a later one. */
export interface Compared {
  readonly old: LineTable;
  /**
   * Divides pending lines of the later content into those that the earlier content also has and those that it lacks.
   */
  pass(pending: PendingLines): PassedLines;
}

const NEWLINE = 0x0a;

type Lines = Pick<LineTable, "starts" | "ids">;

interface WritableLines {
  readonly starts: number[];
  readonly ids: number[];
}

/** The lines from index `first` to index `last` (exclusive). */
interface LineSpan {
  readonly first: number;
  readonly last: number;
}

/** The bytes `from` to `to` (exclusive) of a content. */
interface Part {
  readonly content: Buffer;
  readonly from: number;
  readonly to: number;
}

/** The maximum number of different lines whose numbers are remembered. */
const MOST_LINES = 2_000_000;

/**
 * Compares successive contents of a file. Only the part between the first and the last difference of two contents is
 * split into lines, so that a large file with small changes costs little.
 */
export class LineTables {
  readonly #budget: DiffBudget;
  readonly #ids = new Map<string, number>();
  #next = 0;

  constructor(budget: DiffBudget) {
    this.#budget = budget;
  }

  of(content: Buffer): LineTable {
    return { content, ...this.#linesIn(content, 0, content.length) };
  }

  /** Compares an earlier content (`content`) with a later one (`now`). The table `now` must come from this object. */
  compare(now: LineTable, content: Buffer): Compared {
    const head = commonHead(now.content, content);
    const tail = commonTail(now.content, content, head);
    const oldTo = content.length - tail;
    const [first, last] = [lineAt(now, head), lineAt(now, now.content.length - tail)];
    const middle = this.#linesLike(now, { first, last }, { content, from: head, to: oldTo });
    const places = placesOf(keptLines(middle.ids, now.ids.subarray(first, last), this.#budget), last - first);
    const end = { starts: now.starts.subarray(last).map((start) => start + content.length - now.content.length) };
    const old = {
      content,
      starts: joined(now.starts.subarray(0, first), middle.starts, end.starts),
      ids: joined(now.ids.subarray(0, first), middle.ids, now.ids.subarray(last)),
    };
    const shift = old.ids.length - now.ids.length;
    const placeOf = (line: number): number => {
      if (line < first) return line;
      if (line >= last) return line + shift;
      const place = places[line - first] ?? -1;
      return place < 0 ? place : place + first;
    };
    return { old, pass: (pending) => divided(pending, placeOf) };
  }

  #linesIn(content: Buffer, from: number, to: number): Lines {
    const lines: WritableLines = { starts: [], ids: [] };
    for (let at = from; at < to;) at = this.#addLine(lines, content, { at, to });
    return { starts: Int32Array.from(lines.starts), ids: Int32Array.from(lines.ids) };
  }

  /**
   * Returns the lines of a part of an earlier content. Where the bytes of the later content are equal, copies the
   * numbers from the later content's table. This is much faster than looking up the number of each line.
   */
  #linesLike(now: LineTable, { first, last }: LineSpan, { content, from, to }: Part): Lines {
    const lines: WritableLines = { starts: [], ids: [] };
    const placeOf = (line: number): number =>
      line < last ? (now.starts[line] ?? 0) : (now.starts[last] ?? now.content.length);
    const end = placeOf(last);
    const equalFrom = (line: number, at: number): number =>
      line >= last ? 0 : equalLines({ content: now.content, at: placeOf(line), to: end }, { content, at, to });
    let [line, at] = [first, from];
    while (at < to) {
      const equal = equalFrom(line, at);
      if (equal > 0) {
        for (const shift = at - placeOf(line); line < last && placeOf(line) + shift < at + equal; line += 1) {
          lines.starts.push(placeOf(line) + shift);
          lines.ids.push(now.ids[line] ?? 0);
        }
        at += equal;
        continue;
      }
      const next = lineEnd(content, at);
      const [replaced, inserted, removed] = [equalFrom(line + 1, next), equalFrom(line + 1, at), equalFrom(line, next)];
      if (inserted <= Math.max(replaced, removed)) at = this.#addLine(lines, content, { at, to });
      if (line < last && removed <= Math.max(replaced, inserted)) line += 1;
    }
    return { starts: Int32Array.from(lines.starts), ids: Int32Array.from(lines.ids) };
  }

  /** Adds the line that begins at the offset `at`. Returns the end of this line. */
  #addLine(lines: WritableLines, content: Buffer, { at, to }: { readonly at: number; readonly to: number }): number {
    const end = Math.min(to, lineEnd(content, at));
    lines.starts.push(at);
    // `latin1` gives one character for each byte, so that lines in any encoding are compared exactly.
    lines.ids.push(this.#idOf(content.toString("latin1", at, end)));
    return end;
  }

  #idOf(line: string): number {
    const known = this.#ids.get(line);
    if (known !== undefined) return known;
    // A forgotten line gets another number when it occurs again. The line counts as changed if a table with the old
    // number is compared with a table with the new number.
    if (this.#ids.size >= MOST_LINES) this.#ids.clear();
    this.#next += 1;
    this.#ids.set(line, this.#next);
    return this.#next;
  }
}

/** Returns the end of the line that begins at `from`, after its newline. */
function lineEnd(content: Buffer, from: number): number {
  const found = content.indexOf(NEWLINE, from);
  return found < 0 ? content.length : found + 1;
}

interface Place {
  readonly content: Buffer;
  readonly at: number;
  readonly to: number;
}

/** Returns the length, in bytes, of the whole lines that are equal from the two given places on. */
function equalLines(now: Place, old: Place): number {
  const most = Math.min(now.to - now.at, old.to - old.at);
  const isSame = (from: number, to: number): boolean =>
    now.content.compare(old.content, old.at + from, old.at + to, now.at + from, now.at + to) === 0;
  const equal = lengthOfEqual(most, isSame);
  if (equal === now.to - now.at && equal === old.to - old.at) return equal;
  const end = equal === 0 ? 0 : now.content.lastIndexOf(NEWLINE, now.at + equal - 1) + 1;
  return Math.max(0, end - now.at);
}

/**
 * Returns, for each line of the later part, the index of the same line in the old part; -1 if the old part lacks the
 * line.
 */
function placesOf(pairs: readonly (readonly [number, number])[], count: number): Int32Array {
  const places = new Int32Array(count).fill(-1);
  for (const [oldAt, nowAt] of pairs) places[nowAt] = oldAt;
  return places;
}

function joined(...parts: readonly Int32Array[]): Int32Array {
  const whole = new Int32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function divided(pending: PendingLines, placeOf: (line: number) => number): PassedLines {
  const passed = { at: [] as number[], lines: [] as number[] };
  const kept = { at: [] as number[], lines: [] as number[] };
  for (let i = 0; i < pending.at.length; i += 1) {
    const at = pending.at[i] ?? 0;
    const place = placeOf(at);
    const to = place < 0 ? kept : passed;
    to.at.push(place < 0 ? at : place);
    to.lines.push(pending.lines[i] ?? 0);
  }
  return { passed, kept };
}

/** Returns the index of the first line that begins at the offset `place` or later. */
function lineAt({ starts }: LineTable, place: number): number {
  let [from, to] = [0, starts.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((starts[middle] ?? 0) < place) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The number of bytes that the first comparison covers, and the maximum number for each later comparison. */
const FEWEST_BYTES = 64;
const MOST_BYTES = 64 * 1024;

/** Returns the length, in bytes, of the equal whole lines at the beginning of both contents. */
function commonHead(now: Buffer, old: Buffer): number {
  return equalLines({ content: now, at: 0, to: now.length }, { content: old, at: 0, to: old.length });
}

/**
 * Returns the length, in bytes, of the equal whole lines at the end of both contents. Ignores the first `head` bytes of
 * each content.
 */
function commonTail(now: Buffer, old: Buffer, head: number): number {
  const most = Math.min(now.length, old.length) - head;
  const isSame = (from: number, to: number): boolean =>
    now.compare(old, old.length - to, old.length - from, now.length - to, now.length - from) === 0;
  const equal = lengthOfEqual(most, isSame);
  const [nowAt, oldAt] = [now.length - equal, old.length - equal];
  if (startsLine(now, nowAt) && startsLine(old, oldAt)) return equal;
  const next = now.indexOf(NEWLINE, nowAt);
  return next === -1 ? 0 : now.length - next - 1;
}

function startsLine(content: Buffer, at: number): boolean {
  return at === 0 || content[at - 1] === NEWLINE;
}

/**
 * Returns the number of equal bytes before the first difference, at most `most`. `isSame` returns true if the bytes
 * `from` to `to` (exclusive) are equal.
 */
function lengthOfEqual(most: number, isSame: (from: number, to: number) => boolean): number {
  let equal = 0;
  let end = most;
  for (let step = FEWEST_BYTES; equal < most; step = Math.min(2 * step, MOST_BYTES)) {
    end = Math.min(most, equal + step);
    if (!isSame(equal, end)) break;
    equal = end;
  }
  while (equal < end) {
    const middle = equal + Math.ceil((end - equal) / 2);
    if (isSame(equal, middle)) equal = middle;
    else end = middle - 1;
  }
  return equal;
}
