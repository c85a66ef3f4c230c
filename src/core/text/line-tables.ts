import { type DiffBudget, keptLines } from "./text-diff.ts";

/**
 * The lines of a content. Lines are bytes up to and including a newline, so that CRLF, a missing newline at the end, and
 * bytes that are not UTF-8 are compared exactly. Equal lines have equal numbers in all tables of one `LineTables`.
 */
export interface LineTable {
  readonly content: Buffer;
  /** The places in the content at which the lines begin, ascending. */
  readonly starts: Int32Array;
  readonly ids: Int32Array;
}

/** Lines of a content whose author is looked for in earlier contents. Lines are counted from 0. */
export interface PendingLines {
  /** The numbers of the lines in this content, ascending. */
  readonly at: readonly number[];
  /** The numbers of the same lines in the content whose lines were asked about. */
  readonly lines: readonly number[];
}

/** Pending lines, divided: those that an earlier content has, at their places in it, and those that it lacks. */
export interface PassedLines {
  readonly passed: PendingLines;
  /** At their places in the later content. */
  readonly kept: PendingLines;
}

/** An earlier content, compared with a later one. */
export interface Compared {
  readonly old: LineTable;
  /** Divides pending lines of the later content. */
  pass(pending: PendingLines): PassedLines;
}

const NEWLINE = 0x0a;

type Lines = Pick<LineTable, "starts" | "ids">;

interface WritableLines {
  readonly starts: number[];
  readonly ids: number[];
}

/** `last` is exclusive. */
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

/** The maximum number of different lines that are remembered. */
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

  /** Compares an earlier content with a later one. The table of the later one must be of this object. */
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
   * Returns the lines of a part of an earlier content. Takes the numbers of lines from the later content as far as the
   * bytes are equal there, because that is much faster than looking up each line.
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

  /** Adds the line that begins at a place, and returns its end. */
  #addLine(lines: WritableLines, content: Buffer, { at, to }: { readonly at: number; readonly to: number }): number {
    const end = Math.min(to, lineEnd(content, at));
    lines.starts.push(at);
    // One character for each byte is exact for every encoding.
    lines.ids.push(this.#idOf(content.toString("latin1", at, end)));
    return end;
  }

  #idOf(line: string): number {
    const known = this.#ids.get(line);
    if (known !== undefined) return known;
    // A line that is forgotten gets another number. It then counts as changed where the tables of both numbers meet.
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

/** Returns the length of the equal whole lines that begin at two places, in bytes. */
function equalLines(now: Place, old: Place): number {
  const most = Math.min(now.to - now.at, old.to - old.at);
  const isSame = (from: number, to: number): boolean =>
    now.content.compare(old.content, old.at + from, old.at + to, now.at + from, now.at + to) === 0;
  const equal = lengthOfEqual(most, isSame);
  if (equal === now.to - now.at && equal === old.to - old.at) return equal;
  const end = equal === 0 ? 0 : now.content.lastIndexOf(NEWLINE, now.at + equal - 1) + 1;
  return Math.max(0, end - now.at);
}

/** Returns the place in the old part of each line of the later part; -1 for a line that the old part lacks. */
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

/** Returns the number of the line that begins at `place`, or of the first one after it. */
function lineAt({ starts }: LineTable, place: number): number {
  let [from, to] = [0, starts.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((starts[middle] ?? 0) < place) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** The least and the most bytes that are compared with one call. */
const FEWEST_BYTES = 64;
const MOST_BYTES = 64 * 1024;

/** Returns the length of the equal whole lines at the beginning, in bytes. */
function commonHead(now: Buffer, old: Buffer): number {
  return equalLines({ content: now, at: 0, to: now.length }, { content: old, at: 0, to: old.length });
}

/** Returns the length of the equal whole lines at the end, without those in the first `head` bytes. */
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

/** Returns how many of `most` bytes are equal, where `isSame` compares the bytes `from` to `to` (exclusive). */
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
