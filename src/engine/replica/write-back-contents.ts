import type { Entry } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WriteBackBatch, WriteBackReason } from "../../core/records/write-back.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";

/** Checks that the content of each entry is in the store, and is as the entry says. */
export class WriteBackContents {
  readonly #sizes: ReadonlyMap<Hash, number>;
  /** Targets of links that no system takes. */
  readonly #bad: ReadonlySet<Hash>;
  /** Erased here: the replica may not have heard of it when it sent them. */
  readonly #erased: ReadonlySet<Hash>;

  private constructor(sizes: ReadonlyMap<Hash, number>, bad: ReadonlySet<Hash>, erased: ReadonlySet<Hash>) {
    this.#sizes = sizes;
    this.#bad = bad;
    this.#erased = erased;
  }

  static async of(
    context: Context,
    { entries, missing }: Pick<WriteBackBatch, "entries" | "missing">,
  ): Promise<WriteBackContents> {
    const { blobs } = context;
    const sizes = new Map<Hash, number>();
    const bad = new Set<Hash>();
    for (const { entry } of entries) {
      const hash = entry?.hash;
      if (hash === undefined || sizes.has(hash) || missing?.has(hash) === true) continue;
      const reader = await blobs.open(hash);
      if (reader === undefined) continue;
      sizes.set(hash, reader.size);
      if (entry?.kind === "symlink" && (await blobs.get(hash))?.includes(0) === true) bad.add(hash);
    }
    const hashes = entries.flatMap(({ entry }) => entry?.hash ?? []);
    return new WriteBackContents(sizes, bad, await erasedAmong(context, new Set(hashes)));
  }

  /** Why the content of an entry cannot be its own; `undefined`: it can. */
  refusal(entry: Entry | undefined): WriteBackReason | undefined {
    if (entry?.hash === undefined) return undefined;
    if (this.#erased.has(entry.hash)) return "erased";
    const size = this.#sizes.get(entry.hash);
    if (size === undefined) return "content-missing";
    if (size !== entry.size) return "hash-mismatch";
    return entry.kind === "symlink" && this.#bad.has(entry.hash) ? "path" : undefined;
  }
}
