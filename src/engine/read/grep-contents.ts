import type { UnsearchedShape } from "../../api/file-api.ts";
import type { ContentMatches, LinePattern } from "../../core/text/line-search.ts";
import { SearchBudget } from "../../core/text/search-budget.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { Context, SearchedContent, SizedContent } from "../log/context.ts";
import { KeptLines, type Outcomes } from "./kept-lines.ts";
import { MOST_SEARCHED_BYTES } from "./searched-histories.ts";

/** The maximum number of contents on which the pattern may take too long, and the maximum time of a search, in ms. */
const MOST_SLOW = 10;
const MOST_MS = 60_000;

/** The maximum memory, in bytes, of the matching lines that are held at once. */
const MOST_HELD = 256 * 1024 ** 2;

/** The matches in contents, and what was searched. */
export interface ContentsFound {
  /**
   * Returns the matches in a content, or the reason why the content was not searched; `undefined` if the content has no
   * match.
   */
  readonly of: (hash: Hash | undefined) => ContentMatches | UnsearchedShape["reason"] | undefined;
  /** The number of contents that were searched. */
  readonly searched: number;
  /** The total size of the searched contents, in bytes. */
  readonly bytes: number;
  /** The number of contents that are no longer kept. */
  readonly missing: number;
}

interface Wanted {
  readonly pattern: LinePattern;
  /** The maximum number of lines that are needed of one content. */
  readonly mostLines: number;
  /** The number of matching lines that the answer needs, counted from the first row on; `undefined` if it needs all. */
  readonly mostKept: number | undefined;
}

/**
 * Searches the contents of the rows, each content once. If the search takes too long, ends the search, and notes `time`
 * as the reason for each content that was not searched. Throws `LIMIT_EXCEEDED` if more lines match than can be held.
 */
export async function searchContents(
  context: Context,
  rows: readonly IterationRow[],
  { pattern, mostLines, mostKept }: Wanted,
): Promise<ContentsFound> {
  const sizes = new Map<Hash, number>();
  for (const { entry } of rows)
    if (entry?.kind === "file" && entry.hash !== undefined && entry.size > 0) sizes.set(entry.hash, entry.size);
  const erased = await erasedAmong(context, sizes.keys());
  const outcomes: Outcomes = new Map();
  const contents: SizedContent[] = [];
  for (const [hash, size] of sizes)
    if (erased.has(hash)) outcomes.set(hash, "not-kept");
    else if (size > MOST_SEARCHED_BYTES) outcomes.set(hash, "too-large");
    else contents.push({ hash, size });
  const left = new Set(contents.map(({ hash }) => hash));
  const budget = SearchBudget.of({ slow: MOST_SLOW, bytes: MOST_HELD });
  const order = [...sizes.keys()];
  const kept = new KeptLines({ ...{ outcomes, order, budget }, most: mostKept, dropAt: MOST_HELD / 4 });
  const request = { blobs: context.blobs, contents, pattern, mostLines, budget, mostMs: MOST_MS };
  let [bytes, searched] = [0, 0];
  for await (const found of context.search.search(request)) {
    left.delete(found.hash);
    note(kept, outcomes, found);
    if (found.outcome !== "slow" && found.outcome !== "missing")
      [bytes, searched] = [bytes + (sizes.get(found.hash) ?? 0), searched + 1];
  }
  for (const hash of left) outcomes.set(hash, "time");
  const missing = [...outcomes.values()].filter((one) => one === "not-kept").length;
  return { of: (hash) => (hash === undefined ? undefined : outcomes.get(hash)), searched, bytes, missing };
}

function note(kept: KeptLines, outcomes: Outcomes, { hash, outcome }: SearchedContent): void {
  if (outcome === "none") return;
  if (outcome === "missing") outcomes.set(hash, "not-kept");
  else if (outcome === "slow") outcomes.set(hash, "slow");
  else kept.add(hash, outcome);
}
