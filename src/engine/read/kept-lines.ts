import type { UnsearchedShape } from "../../api/file-api.ts";
import { type ContentMatches, memoryOf } from "../../core/text/line-search.ts";
import type { SearchBudget } from "../../core/text/search-budget.ts";
import type { Hash } from "../../core/values/hash.ts";

export type Outcomes = Map<Hash, ContentMatches | UnsearchedShape["reason"]>;

interface Kept {
  readonly outcomes: Outcomes;
  /** The contents, in the order of the answer. */
  readonly order: readonly Hash[];
  /** The number of lines that the answer can show; `undefined` if it needs all lines. */
  readonly most: number | undefined;
  readonly budget: SearchBudget;
  /** The memory of all kept lines, in bytes, above which the lines that the answer cannot show are dropped. */
  readonly dropAt: number;
}

/**
 * Keeps the lines that an answer can show. Drops the other lines, and gives their memory back to the budget, so that a
 * pattern that matches nearly every line does not fill the memory.
 */
export class KeptLines {
  readonly #kept: Kept;
  #bytes = 0;
  #dropAt: number;

  constructor(kept: Kept) {
    this.#kept = kept;
    this.#dropAt = kept.dropAt;
  }

  add(hash: Hash, found: ContentMatches): void {
    const { outcomes, most, dropAt } = this.#kept;
    outcomes.set(hash, found);
    this.#bytes += bytesOf(found);
    if (most === undefined || this.#bytes <= this.#dropAt) return;
    this.#drop(most);
    this.#dropAt = this.#bytes + dropAt;
  }

  /** Drops all lines after the first `most` lines, in the order of the answer. */
  #drop(most: number): void {
    const { outcomes, order, budget } = this.#kept;
    const before = this.#bytes;
    let lines = 0;
    this.#bytes = 0;
    for (const hash of order) {
      const found = outcomes.get(hash);
      if (typeof found !== "object") continue;
      const shown = { ...found, lines: found.lines.slice(0, Math.max(0, most - lines)) };
      outcomes.set(hash, shown);
      lines += shown.lines.length;
      this.#bytes += bytesOf(shown);
    }
    budget.giveBack(before - this.#bytes);
  }
}

function bytesOf({ lines }: ContentMatches): number {
  return lines.reduce((bytes, line) => bytes + memoryOf(line), 0);
}
