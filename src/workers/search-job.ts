import { Script } from "node:vm";
import { ChronicleError } from "../core/values/errors.ts";
import { hashFromBytes, type Hash } from "../core/values/hash.ts";
import { type ContentMatches, type LinePattern, LineSearch } from "../core/text/line-search.ts";
import { SearchBudget } from "../core/text/search-budget.ts";
import type { BlobPlace, PackRow } from "../storage/blob-index.ts";
import type { PackReader } from "../storage/files/pack-reader.ts";

// This file has the job of a worker thread that searches contents of packs, or contents that it gets.

export type PackPlace = Extract<BlobPlace, { kind: "pack" }>;

/** Contents in packs. */
interface PackedContents {
  /** The packs whose ids are in `numbers`. */
  readonly packs: readonly PackRow[];
  /** The hash of each content, 32 bytes each. */
  readonly hashes: Uint8Array;
  /** For each content: id of the pack, offset and length of the block, offset and length in the unpacked block. */
  readonly numbers: Float64Array;
}

export interface SearchBatch {
  readonly pattern: LinePattern;
  /** The maximum number of lines to return, those of the first contents. */
  readonly mostLines: number;
  readonly contents: PackedContents | readonly Uint8Array[];
  /** The memory of the search's budget. */
  readonly budget: SharedArrayBuffer;
}

/**
 * The result of one content: its matches, `none`, `slow` if the pattern took too long or too much memory, `unread` if
 * the content could not be read at its place, or `left` if the budget was over before.
 */
export type SearchOutcome = ContentMatches | "none" | "slow" | "unread" | "left";

const NUMBERS = 5;

export function toPackedContents(
  rows: readonly { readonly hash: Hash; readonly place: PackPlace }[],
  packs: readonly PackRow[],
): PackedContents {
  const hashes = new Uint8Array(rows.length * 32);
  const numbers = new Float64Array(rows.length * NUMBERS);
  rows.forEach(({ hash, place: { pack, block, blockBytes, at, length } }, i) => {
    hashes.set(Buffer.from(hash, "hex"), i * 32);
    numbers.set([pack, block, blockBytes, at, length], i * NUMBERS);
  });
  return { packs, hashes, numbers };
}

/** Reads and searches the contents of a batch. Returns an outcome for each. */
export function searchBatch(packs: PackReader, { pattern, mostLines, contents, budget }: SearchBatch): SearchOutcome[] {
  const read = Array.isArray(contents) ? contents : readPacked(packs, contents as PackedContents);
  return searchInTime(new LineSearch(pattern), read, {
    ...{ mostLines, limitOf: timeLimitOf },
    budget: new SearchBudget(budget),
  });
}

function readPacked(packs: PackReader, { hashes, numbers }: PackedContents): (Uint8Array | undefined)[] {
  const read = Array.from({ length: hashes.length / 32 }, (_, row) => {
    const [pack = 0, block = 0, blockBytes = 0, at = 0, length = 0] = numbers.subarray(
      row * NUMBERS,
      (row + 1) * NUMBERS,
    );
    const hash = hashFromBytes(hashes.subarray(row * 32, row * 32 + 32));
    return { row, hash, place: { kind: "pack", pack, block, blockBytes, at, length, stored: 0 } satisfies PackPlace };
  });
  const contents: (Uint8Array | undefined)[] = read.map(() => undefined);
  // A block that is read in one go is unpacked once.
  for (const { row, hash, place } of read.sort((a, b) => byPlace(a.place, b.place)))
    try {
      contents[row] = packs.read(hash, place);
    } catch (error) {
      // The caller reads the content itself, and gets the same error unless its cause is gone by then.
      if (!(error instanceof ChronicleError)) throw error;
    }
  return contents;
}

/** Compares two places in the order in which they are stored. */
export function byPlace(a: PackPlace, b: PackPlace): number {
  return a.pack - b.pack || a.block - b.block || a.at - b.at;
}

/** The time in ms for which one content may be searched: far more than a search takes whose time is linear. */
export function timeLimitOf(bytes: number): number {
  return 1_000 + Math.ceil(bytes / 16_384);
}

interface InTime {
  readonly mostLines: number;
  /** Returns the time in ms for which a content of this size may be searched. */
  readonly limitOf: (bytes: number) => number;
  readonly budget: SearchBudget;
  /** True if the caller searches a slow content again, so that the budget does not count it. */
  readonly isTrial?: boolean;
}

/**
 * Searches contents. A pattern whose time grows exponentially with the content is interrupted, and the content is
 * `slow`. So is a content for which the pattern needs too much memory. Contents are `left` once the budget is over.
 * Throws `LIMIT_EXCEEDED` if the lines need more memory than the budget has. `undefined` stands for a content that could not be read.
 */
export function searchInTime(
  search: LineSearch,
  contents: readonly (Uint8Array | undefined)[],
  { mostLines, limitOf, budget, isTrial = false }: InTime,
): SearchOutcome[] {
  const outcomes: SearchOutcome[] = [];
  // `taken`: the memory of the lines of the content that is being searched.
  let [startedAt, lines, taken] = [0, 0, 0];
  const take = (bytes: number): void => {
    taken += bytes;
    budget.take(bytes);
  };
  // The limit holds for a whole part of the batch, because each limited call starts a thread of its own.
  const searchFrom = (from: number, to: number): void => {
    for (let i = from; i < to; i += 1) {
      startedAt = performance.now();
      const content = contents[i];
      if (budget.isOver) outcomes[i] = "left";
      else if (content === undefined) outcomes[i] = "unread";
      else {
        const found = search.search(content, mostLines - lines, take);
        outcomes[i] = found ?? "none";
        lines += found?.lines.length ?? 0;
      }
      taken = 0;
    }
  };
  const limitFrom = (at: number): number => limitOf(contents.slice(at).reduce((sum, one) => sum + lengthOf(one), 0));
  while (outcomes.length < contents.length) {
    const from = outcomes.length;
    if (isInTime(() => searchFrom(from, contents.length), limitFrom(from))) break;
    budget.giveBack(taken);
    const at = outcomes.length;
    const limit = limitOf(lengthOf(contents[at]));
    // A content whose search has begun late gets its whole time.
    const hadTime = performance.now() - startedAt >= limit;
    taken = 0;
    if (!hadTime && isInTime(() => searchFrom(at, at + 1), limit)) continue;
    outcomes[at] = "slow";
    budget.giveBack(taken);
    if (!isTrial) budget.noteSlow();
  }
  return outcomes;
}

function lengthOf(content: Uint8Array | undefined): number {
  return content?.length ?? 0;
}

/** The place of the work that `runner` calls. */
const HELD = "chronicleSearch";
let runner: Script | undefined;

/**
 * Runs `work`; returns false if it was interrupted after `limit` ms, or if a regular expression exhausted its memory.
 * Only the virtual machine can interrupt a regular expression in its own thread.
 */
function isInTime(work: () => void, limit: number): boolean {
  runner ??= new Script(`globalThis.${HELD}()`);
  Reflect.set(globalThis, HELD, work);
  try {
    runner.runInThisContext({ timeout: limit });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    // `exec` throws these errors if the stack is too small for a long line, or the compiled pattern too large.
    if (error instanceof RangeError || error instanceof SyntaxError) return false;
    throw error;
  } finally {
    Reflect.deleteProperty(globalThis, HELD);
  }
}
