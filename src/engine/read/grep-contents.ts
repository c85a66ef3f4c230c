import type { UnsearchedShape } from "../../api/file-api.ts";
import type { ContentMatches, LinePattern } from "../../core/text/line-search.ts";
import { SearchBudget } from "../../core/text/search-budget.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { Context, SearchedContent, SizedContent } from "../log/context.ts";
import { MOST_SEARCHED_BYTES } from "./searched-histories.ts";

/** The maximum number of contents for which a pattern may take too long, and the maximum time of a search, in ms. */
const MOST_SLOW = 10;
const MOST_MS = 60_000;

/** The maximum number of matching lines that are held at once if all are needed. */
const MOST_LINES = 1_000_000;

/** The matches of contents. */
export interface ContentsFound {
  /** Returns the matches of a content, or why it was not searched; `undefined` if it does not match. */
  readonly of: (hash: Hash | undefined) => ContentMatches | UnsearchedShape["reason"] | undefined;
  /** The number of contents that were searched, and of their bytes. */
  readonly searched: number;
  readonly bytes: number;
  /** The number of contents that are not kept. */
  readonly missing: number;
}

interface Wanted {
  readonly pattern: LinePattern;
  /** The maximum number of lines of one content. */
  readonly mostLines: number;
  /** Only this number of lines is needed, those of the first rows. `undefined`: all lines are needed. */
  readonly mostKept: number | undefined;
}

/**
 * Searches the contents of the rows, each once. Gives up, and says so for each content that is left, if the pattern
 * takes too long. Throws `LIMIT_EXCEEDED` if more lines match than can be held.
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
  const outcomes = new Map<Hash, ContentMatches | UnsearchedShape["reason"]>();
  const contents: SizedContent[] = [];
  for (const [hash, size] of sizes)
    if (erased.has(hash)) outcomes.set(hash, "not-kept");
    else if (size > MOST_SEARCHED_BYTES) outcomes.set(hash, "too-large");
    else contents.push({ hash, size });
  const left = new Set(contents.map(({ hash }) => hash));
  const kept = new KeptLines(outcomes, [...sizes.keys()], mostKept);
  const budget = SearchBudget.of({ slow: MOST_SLOW });
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

type Outcomes = Map<Hash, ContentMatches | UnsearchedShape["reason"]>;

/** Keeps the lines that an answer can show, so that a pattern that matches nearly every line does not fill the memory. */
class KeptLines {
  readonly #outcomes: Outcomes;
  /** The contents in the order in which the answer has them. */
  readonly #order: readonly Hash[];
  readonly #most: number | undefined;
  #lines = 0;

  constructor(outcomes: Outcomes, order: readonly Hash[], most: number | undefined) {
    this.#outcomes = outcomes;
    this.#order = order;
    this.#most = most;
  }

  add(hash: Hash, found: ContentMatches): void {
    this.#outcomes.set(hash, found);
    this.#lines += found.lines.length;
    if (this.#most === undefined) {
      if (this.#lines > MOST_LINES) throw tooMany();
    } else if (this.#lines > 2 * this.#most + MOST_LINES / 10) this.#drop(this.#most);
  }

  /** Drops the lines behind the first `most` ones. */
  #drop(most: number): void {
    this.#lines = 0;
    for (const hash of this.#order) {
      const found = this.#outcomes.get(hash);
      if (typeof found !== "object") continue;
      const lines = found.lines.slice(0, Math.max(0, most - this.#lines));
      this.#outcomes.set(hash, { ...found, lines });
      this.#lines += lines.length;
    }
  }
}

function tooMany(): ChronicleError {
  return new ChronicleError("LIMIT_EXCEEDED", `more than ${MOST_LINES} lines of the history match`, {
    hint: "give a longer pattern or a path, or ask for the files only (-l)",
  });
}
