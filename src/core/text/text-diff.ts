import { diffArrays } from "diff";
import { pathToBytes } from "../values/path.ts";
import { addAll } from "../../util/long-lists.ts";

/** The maximum length of a content that is compared line by line, in bytes. */
export const MAX_DIFF_BYTES = 4 * 1024 ** 2;

/**
 * The maximum number of edits for which the shortest diff of two contents is searched. An edit is an added or removed
 * line that also occurs on the other side. A line that occurs on only one side needs no search. The time of the search
 * grows with the square of the edits (about 50 ms at 1,000). If there are more edits, the diff replaces everything
 * between the first and the last difference.
 */
export const MAX_EDITS = 1000;

/** The maximum number of compared lines between the first and the last difference, on both sides together. */
const MAX_LINES = 500_000;

/**
 * The maximum number of steps of all searches for the patches of one answer. A search takes as many steps as the square
 * of its number of edits.
 */
const MOST_STEPS = 20 * MAX_EDITS ** 2;

/**
 * The steps that remain for the patches of one answer. If no steps remain, everything between the first and the last
 * difference is replaced as a whole.
 */
export class DiffBudget {
  #steps: number;
  #isCoarse = false;

  /** `steps` defaults to the maximum for the patches of one answer. */
  constructor(steps = MOST_STEPS) {
    this.#steps = steps;
  }

  /** True if a search was given up, so that a diff replaces more than the shortest diff would. */
  get isCoarse(): boolean {
    return this.#isCoarse;
  }

  /** Notes that a search was given up. */
  noteCoarse(): void {
    this.#isCoarse = true;
  }

  /** The maximum number of edits of the next search. */
  get edits(): number {
    return Math.min(MAX_EDITS, Math.floor(Math.sqrt(this.#steps)));
  }

  /** Subtracts the steps of a search with this number of edits. */
  spend(edits: number): void {
    this.#steps = Math.max(0, this.#steps - edits ** 2);
  }
}

/**
 * The number of bytes at the beginning of a file in which git looks for a NUL. A file with a NUL among these bytes is
 * binary.
 */
const SNIFFED_BYTES = 8000;

/** Types and modes in git's notation: a file, an executable file, a symbolic link (its content is the target). */
export type GitMode = "100644" | "100755" | "120000";

/** The two contents to compare. If a side is absent, the file does not exist on that side. */
export interface DiffInput {
  /**
   * The path relative to the folder in which the patch is applied. Names that are not UTF-8 are encoded as in
   * `WorkspacePath`.
   */
  readonly path: string;
  /** The earlier path of a renamed file, and the similarity of the two contents, in percent. */
  readonly renamed?: { readonly from: string; readonly similarity: number };
  readonly before?: Uint8Array | undefined;
  readonly after?: Uint8Array | undefined;
  /** The number of unchanged lines around a change. Default 3. */
  readonly context?: number;
  /** The budget of the answer to which the patch belongs. Default: a new one. */
  readonly budget?: DiffBudget;
  /**
   * The mode of each side. Default: a plain file. If the types of the sides differ (file, link), each side needs a
   * patch of its own, as in git.
   */
  readonly beforeMode?: GitMode;
  readonly afterMode?: GitMode;
}

/**
 * A patch, or the reason why there is none:
 * - `text`: `patch` is `""` if both sides are equal. Otherwise, `patch` has git's form, for `git apply` and `patch
 *   -p1`. The patch is always text, because the contents are UTF-8, and names are quoted as in git.
 * - `binary`: a side is not UTF-8, or has a NUL among its first 8,000 bytes.
 * - `too-large`: a side is longer than `MAX_DIFF_BYTES`, or too many lines differ.
 */
export type TextDiff =
  | { readonly kind: "text"; readonly patch: string }
  | { readonly kind: "binary" }
  | { readonly kind: "too-large" };

/** One hunk of a patch. Each of its `lines` begins with ` `, `-`, `+` or `\`, and has no newline. */
interface Hunk {
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  readonly lines: readonly string[];
}

/** Compares two contents line by line. The result is deterministic, because limits are sizes, not times. */
export function unifiedDiff(input: DiffInput): TextDiff {
  const sides = [input.before, input.after].map((bytes) => bytes ?? new Uint8Array());
  const isSame = Buffer.compare(sides[0] ?? NONE, sides[1] ?? NONE) === 0;
  if (isSame && input.before !== undefined && input.after !== undefined) return modesOnly(input);
  if (sides.some(isBinary)) return { kind: "binary" };
  if (sides.some((bytes) => bytes.length > MAX_DIFF_BYTES)) return { kind: "too-large" };
  const [before, after] = sides.map(decodeText);
  if (before === undefined || after === undefined) return { kind: "binary" };
  if (input.before === undefined && input.after === undefined) return { kind: "text", patch: "" };
  const hunks = hunksOf(before, after, input);
  if (hunks === undefined) return { kind: "too-large" };
  return { kind: "text", patch: [...headerLines(input, hunks.length > 0), ...hunks.flatMap(hunkLines), ""].join("\n") };
}

/** Returns true if a content has a NUL among its first 8,000 bytes. Git regards such a content as binary, too. */
export function isBinary(content: Uint8Array): boolean {
  return content.subarray(0, SNIFFED_BYTES).includes(0);
}

const NONE = new Uint8Array();

function modesOnly(input: DiffInput): TextDiff {
  const isEqual = modeLines(input).length === 0 && input.renamed === undefined;
  const lines = isEqual ? [] : [...headerLines(input, false), ""];
  return { kind: "text", patch: lines.join("\n") };
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function decodeText(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Lines of the old side, and the lines of the new side that replace them. The ends are exclusive. */
interface Region {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/**
 * Both sides without the equal lines at their beginnings and ends. The lines of context around the differing part are
 * kept. `skipped` is the number of lines before the first kept line.
 */
interface Window {
  readonly old: readonly string[];
  readonly now: readonly string[];
  readonly skipped: number;
}

function hunksOf(before: string, after: string, input: DiffInput): Hunk[] | undefined {
  const { budget = new DiffBudget() } = input;
  const context = Math.max(0, input.context ?? 3);
  const window = windowOf(before, after, context);
  if (window === undefined) return undefined;
  return groupsOf(regionsOf(window, budget), context).map((group) => toHunk(window, group, context));
}

/**
 * Returns the part of both contents that is compared; `undefined` if this part has too many lines. Only this part is
 * split into lines, so that a large file with few differences is processed fast.
 */
function windowOf(before: string, after: string, context: number): Window | undefined {
  const head = commonHead(before, after);
  const tail = commonTail(before, after, head);
  const [oldTo, newTo] = [before.length - tail, after.length - tail];
  if (linesIn(before, head, oldTo) + linesIn(after, head, newTo) > MAX_LINES) return undefined;
  let from = head;
  for (let i = 0; i < context && from > 0; i += 1) from = from === 1 ? 0 : before.lastIndexOf("\n", from - 2) + 1;
  let more = 0;
  for (let i = 0; i < context && more < tail; i += 1) more = lineEnd(before, oldTo + more) - oldTo;
  return {
    old: splitLines(before.slice(from, oldTo + more)),
    now: splitLines(after.slice(from, newTo + more)),
    skipped: linesIn(before, 0, from),
  };
}

/** Returns the length, in UTF-16 code units, of the equal whole lines at the beginning of both contents. */
function commonHead(before: string, after: string): number {
  const most = Math.min(before.length, after.length);
  let at = 0;
  let head = 0;
  while (at < most && before.charCodeAt(at) === after.charCodeAt(at)) {
    at += 1;
    if (before.charCodeAt(at - 1) === NEWLINE) head = at;
  }
  return head;
}

function commonTail(before: string, after: string, head: number): number {
  const most = Math.min(before.length, after.length) - head;
  let length = 0;
  let tail = 0;
  while (length < most) {
    const unit = before.charCodeAt(before.length - 1 - length);
    if (unit !== after.charCodeAt(after.length - 1 - length)) break;
    // The text after this shared newline consists of whole lines.
    if (unit === NEWLINE) tail = length;
    length += 1;
  }
  const [oldAt, newAt] = [before.length - length, after.length - length];
  const isWhole = startsLine(before, oldAt) && startsLine(after, newAt);
  return isWhole ? length : tail;
}

const NEWLINE = 0x0a;

function startsLine(text: string, at: number): boolean {
  return at === 0 || text.charCodeAt(at - 1) === NEWLINE;
}

/** Returns the end of the line that begins at `from`, after its newline. */
function lineEnd(text: string, from: number): number {
  const found = text.indexOf("\n", from);
  return found === -1 ? text.length : found + 1;
}

/** Counts the lines that begin in this part of the text. The part must start at the beginning of a line. */
function linesIn(text: string, from: number, to: number): number {
  let lines = 0;
  for (let at = from; at < to; at = lineEnd(text, at)) lines += 1;
  return lines;
}

function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function regionsOf({ old, now }: Window, budget: DiffBudget): Region[] {
  const middle = middleOf(old, now);
  const regions: Region[] = [];
  let [oldFrom, newFrom] = [middle.oldFrom, middle.newFrom];
  for (const [oldAt, newAt] of [...pairsWithin(old, now, middle, budget), [middle.oldTo, middle.newTo] as const]) {
    if (oldAt > oldFrom || newAt > newFrom) regions.push({ oldFrom, oldTo: oldAt, newFrom, newTo: newAt });
    [oldFrom, newFrom] = [oldAt + 1, newAt + 1];
  }
  return regions;
}

/**
 * The maximum number of edits of a search over all lines. If there are more edits, the lines that only one side has are
 * left out of the search.
 */
const FEW_EDITS = 50;

/**
 * Returns the lines that the shortest diff keeps, each as a pair of line numbers from 0 (old side, new side),
 * ascending. Equal lines have equal numbers. If the search would take too long, or too many lines are compared, returns
 * only the equal lines at the beginnings and the ends, and marks the budget as coarse.
 */
export function keptLines(old: Int32Array, now: Int32Array, budget: DiffBudget): (readonly [number, number])[] {
  const middle = middleOf(old, now);
  const pairs: (readonly [number, number])[] = [];
  for (let at = 0; at < middle.oldFrom; at += 1) pairs.push([at, at]);
  if (old.length + now.length > MAX_LINES) budget.noteCoarse();
  else addAll(pairs, pairsOfFew(old, now, middle) ?? pairsWithin([...old], [...now], middle, budget));
  for (let at = middle.oldTo; at < old.length; at += 1) pairs.push([at, at - middle.oldTo + middle.newTo]);
  return pairs;
}

/** Like `pairsWithin`, but returns `undefined` if there are more than `FEW_EDITS` edits. Spends nothing of a budget. */
function pairsOfFew(
  old: Int32Array,
  now: Int32Array,
  { oldFrom, oldTo, newFrom, newTo }: Region,
): (readonly [number, number])[] | undefined {
  const sides = [Array.from(old.subarray(oldFrom, oldTo)), Array.from(now.subarray(newFrom, newTo))] as const;
  const parts = diffArrays(...sides, { maxEditLength: FEW_EDITS });
  if (parts === undefined) return undefined;
  return pairsOfParts(parts, (oldAt, nowAt) => [oldAt + oldFrom, nowAt + newFrom]);
}

function middleOf(old: ArrayLike<unknown>, now: ArrayLike<unknown>): Region {
  const shorter = Math.min(old.length, now.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && old[old.length - 1 - tail] === now[now.length - 1 - tail]) tail += 1;
  return { oldFrom: head, oldTo: old.length - tail, newFrom: head, newTo: now.length - tail };
}

/**
 * Returns the lines within a region that the shortest diff keeps, each as a pair of line numbers (old side, new side).
 * Returns an empty list if the search would take too long. Lines that the other side does not have are left out of the
 * search, as in git's xdiff.
 */
function pairsWithin<Line>(
  old: readonly Line[],
  now: readonly Line[],
  { oldFrom, oldTo, newFrom, newTo }: Region,
  budget: DiffBudget,
): (readonly [number, number])[] {
  const numbers = new Map<Line | undefined, number>();
  for (let at = oldFrom; at < oldTo; at += 1) numbers.set(old[at], at);
  const ofNew = searchable(now, newFrom, newTo, (line) => numbers.get(line));
  const shared = new Set(ofNew.numbers);
  const ofOld = searchable(old, oldFrom, oldTo, (line) => {
    const number = numbers.get(line);
    return number !== undefined && shared.has(number) ? number : undefined;
  });
  const { edits } = budget;
  const parts = diffArrays(ofOld.numbers, ofNew.numbers, { maxEditLength: edits });
  if (parts === undefined) budget.noteCoarse();
  budget.spend(parts === undefined ? edits : parts.reduce((sum, one) => sum + (isKept(one) ? 0 : one.count), 0));
  return pairsOfParts(parts ?? [], (oldAt, newAt) => [ofOld.at[oldAt] ?? 0, ofNew.at[newAt] ?? 0]);
}

interface Part {
  readonly added: boolean;
  readonly removed: boolean;
  readonly count: number;
}

/** Returns a pair for each kept line of a diff. `pairOf` makes the pair from the line's indexes on both sides. */
function pairsOfParts(
  parts: readonly Part[],
  pairOf: (oldAt: number, newAt: number) => readonly [number, number],
): (readonly [number, number])[] {
  const pairs: (readonly [number, number])[] = [];
  let [oldAt, newAt] = [0, 0];
  for (const part of parts) {
    for (let i = 0; isKept(part) && i < part.count; i += 1) pairs.push(pairOf(oldAt + i, newAt + i));
    if (!part.added) oldAt += part.count;
    if (!part.removed) newAt += part.count;
  }
  return pairs;
}

function isKept(part: { readonly added: boolean; readonly removed: boolean }): boolean {
  return !part.added && !part.removed;
}

function searchable<Line>(
  lines: readonly Line[],
  from: number,
  to: number,
  numberOf: (line: Line | undefined) => number | undefined,
): { readonly numbers: number[]; readonly at: readonly number[] } {
  const numbers: number[] = [];
  const found: number[] = [];
  for (let at = from; at < to; at += 1) {
    const number = numberOf(lines[at]);
    if (number === undefined) continue;
    numbers.push(number);
    found.push(at);
  }
  return { numbers, at: found };
}

/** Groups the regions whose lines of context would touch or overlap. */
function groupsOf(regions: readonly Region[], context: number): Region[][] {
  const groups: Region[][] = [];
  for (const region of regions) {
    const last = groups.at(-1);
    if (last === undefined || region.oldFrom - (last.at(-1)?.oldTo ?? 0) > 2 * context) groups.push([region]);
    else last.push(region);
  }
  return groups;
}

function toHunk({ old, now, skipped }: Window, group: readonly Region[], context: number): Hunk {
  const [first, last] = [group[0], group.at(-1)];
  if (first === undefined || last === undefined) throw new RangeError("a hunk has at least one region");
  const lead = Math.min(context, first.oldFrom);
  const trail = Math.min(context, old.length - last.oldTo);
  const lines: string[] = [];
  let at = first.oldFrom - lead;
  for (const { oldFrom, oldTo, newFrom, newTo } of group) {
    addAll(lines, marked(" ", old.slice(at, oldFrom)));
    addAll(lines, marked("-", old.slice(oldFrom, oldTo)));
    addAll(lines, marked("+", now.slice(newFrom, newTo)));
    at = oldTo;
  }
  addAll(lines, marked(" ", old.slice(at, at + trail)));
  const [oldStart, newStart] = [first.oldFrom - lead, first.newFrom - lead];
  const [oldLines, newLines] = [last.oldTo + trail - oldStart, last.newTo + trail - newStart];
  return { oldStart: skipped + oldStart + 1, oldLines, newStart: skipped + newStart + 1, newLines, lines };
}

function marked(mark: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, "\\ No newline at end of file"],
  );
}

function hunkLines(hunk: Hunk): string[] {
  // In a patch, an empty range has the number of the line before it.
  const oldStart = hunk.oldLines === 0 ? hunk.oldStart - 1 : hunk.oldStart;
  const newStart = hunk.newLines === 0 ? hunk.newStart - 1 : hunk.newStart;
  return [`@@ -${oldStart},${hunk.oldLines} +${newStart},${hunk.newLines} @@`, ...hunk.lines];
}

function modeLines({ before, after, beforeMode = "100644", afterMode = "100644" }: DiffInput): string[] {
  if (before === undefined) return [`new file mode ${afterMode}`];
  if (after === undefined) return [`deleted file mode ${beforeMode}`];
  return beforeMode === afterMode ? [] : [`old mode ${beforeMode}`, `new mode ${afterMode}`];
}

function headerLines(input: DiffInput, hasHunks: boolean): string[] {
  const { path, renamed } = input;
  const earlier = renamed?.from ?? path;
  const lines = [`diff --git ${patchName(`a/${earlier}`)} ${patchName(`b/${path}`)}`];
  addAll(lines, modeLines(input));
  if (renamed !== undefined) {
    lines.push(`similarity index ${renamed.similarity}%`);
    lines.push(`rename from ${patchName(renamed.from)}`, `rename to ${patchName(path)}`);
  }
  if (hasHunks) {
    lines.push(`--- ${input.before === undefined ? "/dev/null" : sideName(`a/${earlier}`)}`);
    lines.push(`+++ ${input.after === undefined ? "/dev/null" : sideName(`b/${input.path}`)}`);
  }
  return lines;
}

/**
 * Returns the lines of a patch for a change that no text patch can represent, in git's form for binary files. `git
 * apply` then refuses the whole patch instead of silently leaving this file out. The contents of `before` and `after`
 * are not read. Only their presence matters.
 */
export function patchWithoutText(input: DiffInput): string[] {
  const { before, after, beforeMode = "100644", afterMode = "100644" } = input;
  const isSame = before !== undefined && after !== undefined && beforeMode === afterMode;
  const [old, now] = [
    before === undefined ? "/dev/null" : patchName(`a/${input.path}`),
    after === undefined ? "/dev/null" : patchName(`b/${input.path}`),
  ];
  return [
    ...headerLines(input, false),
    // Without this line, git regards the file as unchanged. The hashes are zero, because the contents are not read.
    `index 0000000..0000000${isSame ? ` ${afterMode}` : ""}`,
    `Binary files ${old} and ${now} differ`,
  ];
}

/** Returns a name for a `---` or `+++` line. A tab after a name with spaces tells `patch` where the name ends. */
function sideName(name: string): string {
  const quoted = patchName(name);
  return quoted.includes(" ") && !quoted.startsWith('"') ? `${quoted}\t` : quoted;
}

const ESCAPES: Readonly<Record<number, string>> = {
  0x07: "\\a",
  0x08: "\\b",
  0x09: "\\t",
  0x0a: "\\n",
  0x0b: "\\v",
  0x0c: "\\f",
  0x0d: "\\r",
  0x22: '\\"',
  0x5c: "\\\\",
};

/** Quotes a name as git does in patches. The name is escaped unless it is printable ASCII without `"` and `\`. */
function patchName(name: string): string {
  if (/^[ !#-[\]-~]*$/.test(name)) return name;
  let quoted = "";
  for (const byte of pathToBytes(name)) {
    const isPlain = byte >= 0x20 && byte < 0x7f;
    quoted += ESCAPES[byte] ?? (isPlain ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, "0")}`);
  }
  return `"${quoted}"`;
}
