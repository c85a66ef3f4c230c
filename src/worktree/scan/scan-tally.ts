import type { CaptureLimits } from "../../core/filter/filter.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { LimitExcess } from "../worktree.ts";

/**
 * The depth below a root down to which each folder has counts of its own. Deeper paths are counted with their ancestor
 * at this depth. The counts serve to name the folders with the most paths or bytes (the heaviest).
 */
const DEPTH = 3;
/** The maximum number of heaviest folders that are named for an exceeded limit. */
const HEAVIEST = 10;

/**
 * The number of the paths in one folder, and their total size in bytes. Paths beneath a deeper folder are included only
 * if that folder has no `Weight` of its own.
 */
export interface Weight {
  readonly path: WorkspacePath;
  readonly depth: number;
  /** The weight of the parent folder; `undefined` for the root. */
  readonly outer: Weight | undefined;
  entries: number;
  bytes: number;
}

/** Counts the paths and bytes of one root during a scan, and compares them with the root's limits. */
export class ScanTally {
  readonly #limits: CaptureLimits;
  readonly #weights: Weight[] = [];
  #isFull = false;
  entries: number;
  bytes: number;

  /**
   * `start`: the initial number of paths, and their initial total size in bytes. A full scan starts at zeros. A scan of
   * only some paths starts at the remembered totals, because such a scan counts only the differences from these totals.
   */
  constructor(limits: CaptureLimits, start: { readonly entries: number; readonly bytes: number }) {
    this.#limits = limits;
    this.entries = start.entries;
    this.bytes = start.bytes;
  }

  /**
   * Returns the weight to which a folder's contents are added. A folder at most `DEPTH` levels below the root gets a
   * new weight; for a deeper folder, the result is `outer`. `outer`: the weight of the parent folder; `undefined` for
   * the root.
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
