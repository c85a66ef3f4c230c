import type { CaptureLimits } from "../../core/filter/filter.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { LimitExcess } from "../worktree.ts";

/**
 * Folders down to this depth are counted separately, so that the folders with the most paths or bytes (the heaviest)
 * can be named.
 */
const DEPTH = 3;
/** The number of heaviest folders that are named. */
const HEAVIEST = 10;

/** The number and total size of the paths in one folder, without the folders beneath it that are counted separately. */
export interface Weight {
  readonly path: WorkspacePath;
  readonly depth: number;
  /** The weight of the nearest folder above that is counted separately. */
  readonly outer: Weight | undefined;
  entries: number;
  bytes: number;
}

/** Counts the paths and bytes of one root in a scan, against its limits. */
export class ScanTally {
  readonly #limits: CaptureLimits;
  readonly #weights: Weight[] = [];
  #isFull = false;
  entries: number;
  bytes: number;

  /**
   * `start`: the initial number of paths, and their initial total size in bytes. A full scan starts at zeros. A scan of
   * only some paths starts at the remembered totals, because it counts only the differences from them.
   */
  constructor(limits: CaptureLimits, start: { readonly entries: number; readonly bytes: number }) {
    this.#limits = limits;
    this.entries = start.entries;
    this.bytes = start.bytes;
  }

  /**
   * Returns the weight to which the contents of a folder are added. This is a new weight for each folder down to
   * `DEPTH`, and `outer` for a deeper folder. `outer`: the weight of the folder above; `undefined` for the root.
   */
  weigh(path: WorkspacePath, outer: Weight | undefined): Weight {
    if (outer !== undefined && outer.depth >= DEPTH) return outer;
    const weight = { path, depth: outer === undefined ? 0 : outer.depth + 1, outer, entries: 0, bytes: 0 };
    this.#weights.push(weight);
    return weight;
  }

  count(weight: Weight, entries: number, bytes: number): void {
    this.entries += entries;
    this.bytes += bytes;
    weight.entries += entries;
    weight.bytes += bytes;
  }

  /**
   * Returns true if one more path of `bytes` bytes fits within the limits. Once this method has returned false, it
   * always returns false. A limit of 0 means that there is no limit.
   */
  admits(bytes: number): boolean {
    const { maxEntries, maxBytes } = this.#limits;
    const fits = (maxEntries === 0 || this.entries < maxEntries) && (maxBytes === 0 || this.bytes + bytes <= maxBytes);
    this.#isFull ||= !fits;
    return !this.#isFull;
  }

  /** Returns the limits that the counts exceed, each with the heaviest folders, the heaviest first. */
  exceeded(): LimitExcess[] {
    const found: LimitExcess[] = [];
    const { maxEntries, maxBytes } = this.#limits;
    if (maxEntries > 0 && this.entries > maxEntries) {
      found.push({
        limit: "maxEntries",
        allowed: maxEntries,
        found: this.entries,
        heaviest: this.#heaviest("entries"),
      });
    }
    if (maxBytes > 0 && this.bytes > maxBytes) {
      found.push({ limit: "maxBytes", allowed: maxBytes, found: this.bytes, heaviest: this.#heaviest("bytes") });
    }
    return found;
  }

  #heaviest(by: "entries" | "bytes"): LimitExcess["heaviest"] {
    const sums = new Map<Weight, { path: WorkspacePath; entries: number; bytes: number }>();
    for (const weight of this.#weights) {
      for (let at: Weight | undefined = weight; at !== undefined; at = at.outer) {
        const sum = sums.get(at) ?? { path: at.path, entries: 0, bytes: 0 };
        sum.entries += weight.entries;
        sum.bytes += weight.bytes;
        sums.set(at, sum);
      }
    }
    const folders = [...sums].filter(([weight]) => weight.depth > 0).map(([, sum]) => sum);
    return folders.sort((a, b) => b[by] - a[by]).slice(0, HEAVIEST);
  }
}
