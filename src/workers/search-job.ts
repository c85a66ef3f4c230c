import { Script } from "node:vm";
import { ChronicleError } from "../core/values/errors.ts";
import { hashFromBytes, type Hash } from "../core/values/hash.ts";
import { type ContentMatches, type LinePattern, LineSearch } from "../core/text/line-search.ts";
import { SearchBudget } from "../core/text/search-budget.ts";
import type { BlobPlace, PackRow } from "../storage/blob-index.ts";
import type { PackReader } from "../storage/files/pack-reader.ts";

// A worker thread runs this code to search contents. The thread reads the contents from packs, or gets them in a
// message.

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
  /** The maximum number of lines to return. If there are more, those of the first contents are returned. */
  readonly mostLines: number;
  readonly contents: PackedContents | readonly Uint8Array[];
  /** The shared memory of the search's `SearchBudget`. */
  readonly budget: SharedArrayBuffer;
}

/**
 * The result of one content: its matches, or the reason why there are none. `none`: no line matches. `slow`: the
 * pattern took too long or too much memory. `unread`: the content could not be read at its place. `left`: the budget
 * was over before the content was searched.
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

/** Reads and searches the contents of a batch. Returns an outcome for each content. */
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
  // Read the contents of a block one after another, so that the block is unpacked only once.
  for (const { row, hash, place } of read.sort((a, b) => byPlace(a.place, b.place)))
    try {
      contents[row] = packs.read(hash, place);
    } catch (error) {
      // Ignore the error: the caller reads the content itself, and gets the same error if its cause persists.
      if (!(error instanceof ChronicleError)) throw error;
    }
  return contents;
}

/** Compares two places in the order in which they are stored. */
export function byPlace(a: PackPlace, b: PackPlace): number {
  return a.pack - b.pack || a.block - b.block || a.at - b.at;
}

/**
 * Returns the maximum time, in ms, for the search of one content. A search whose time grows linearly with the size of
 * the content takes far less.
 */
export function timeLimitOf(bytes: number): number {
  return 1_000 + Math.ceil(bytes / 16_384);
}

interface InTime {
  readonly mostLines: number;
  /** Returns the time in ms for which a content of this size may be searched. */
  readonly limitOf: (bytes: number) => number;
  readonly budget: SearchBudget;
  /** True if the caller searches a slow content again. The budget then does not count the content as slow. */
  readonly isTrial?: boolean;
}

/**
 * Searches contents, and returns an outcome for each. A search that takes too long, or that needs too much memory, is
 * interrupted, and the content is `slow`. Once the budget is over, the remaining contents are `left`. A content that is
 * `undefined` could not be read, and is `unread`. Throws `LIMIT_EXCEEDED` if the lines need more memory than the budget
 * has.
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
  // One time limit covers several contents, because each call with a time limit starts a thread of its own.
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
    // If the search of this content began late within the common limit, search the content again with its own limit.
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

/** The name of the global variable with the function that `runner` calls. */
const HELD = "chronicleSearch";
let runner: Script | undefined;

/**
 * Runs `work`. Returns false if `work` was interrupted after `limit` ms, or if a regular expression exhausted its
 * memory. Runs `work` with `node:vm`, because only `node:vm` can interrupt a regular expression within the same thread.
 */
function isInTime(work: () => void, limit: number): boolean {
  runner ??= new Script(`globalThis.${HELD}()`);
  Reflect.set(globalThis, HELD, work);
  try {
    runner.runInThisContext({ timeout: limit });
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT") return false;
    // `exec` throws these errors if the stack is too small for a long line, or if the compiled pattern is too large.
    if (error instanceof RangeError || error instanceof SyntaxError) return false;
    throw error;
  } finally {
    Reflect.deleteProperty(globalThis, HELD);
  }
}
