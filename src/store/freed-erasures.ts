import { sha256, type Hash } from "../core/values/hash.ts";
import type { LoggedErasure } from "../core/records/erasures.ts";
import { decodePlan } from "../core/tree/plan.ts";
import type { Disk } from "../disk/disk.ts";
import { uniqueMark, writeFileDurably } from "../disk/write-fully.ts";
import type { BlobStore } from "../storage/blob-store.ts";
import { makeFolders, readDerived } from "./file-head-keeper.ts";

interface Needed {
  /** The contents that anything in the store still needs. */
  readonly alive: ReadonlySet<Hash>;
  readonly blobs: Pick<BlobStore, "get">;
}

/**
 * Remembers the erasures whose contents a collection has freed, so that the next collection need not search every pack
 * for these contents. A remembered erasure may have contents that are kept, because other records need them. The file
 * is derived: if it is lost, the next collection searches every pack again.
 */
export class FreedErasures {
  readonly #disk: Disk;
  readonly #path: string;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /**
   * True if every erasure is remembered, and if the set of its contents that are still needed has not changed since the
   * last `put`. The keys of `erasures` are unique names.
   */
  async hasAll(erasures: ReadonlyMap<string, LoggedErasure>, needed: Needed): Promise<boolean> {
    if (erasures.size === 0) return true;
    const known = new Set((readDerived(this.#disk, this.#path) ?? "").split("\n"));
    return (await linesOf(erasures, needed)).every((one) => known.has(one));
  }

  async put(erasures: ReadonlyMap<string, LoggedErasure>, needed: Needed): Promise<void> {
    const lines = await linesOf(erasures, needed);
    makeFolders(this.#disk, this.#path.slice(0, this.#path.lastIndexOf("/")));
    writeFileDurably(this.#disk, this.#path, Buffer.from(lines.sort().join("\n")), { mark: uniqueMark() });
  }
}

/**
 * Returns one line for each erasure. If some contents of the erasure are still needed, the line contains a hash over
 * them. Once fewer of them are needed, the line differs from the remembered one. The next collection then searches
 * again and frees more bytes.
 */
async function linesOf(erasures: ReadonlyMap<string, LoggedErasure>, needed: Needed): Promise<string[]> {
  const lines: string[] = [];
  for (const [name, erasure] of erasures) {
    const hashes = [...erasure.contents, ...(await contentsAside(erasure, needed))];
    const stays = [...new Set(hashes.filter((hash) => needed.alive.has(hash)))].sort();
    lines.push(stays.length === 0 ? name : `${name} but ${sha256(stays.join(" "))}`);
  }
  return lines;
}

/** Returns the contents that the plans in `aside` name for the erased paths. Skips a plan that is no longer needed. */
async function contentsAside({ aside = [] }: LoggedErasure, { alive, blobs }: Needed): Promise<Hash[]> {
  const hashes: (Hash | undefined)[] = [];
  for (const { plan, paths } of aside) {
    const bytes = alive.has(plan) ? await blobs.get(plan) : undefined;
    const erased = new Set(paths);
    for (const { path, before, after } of bytes === undefined ? [] : decodePlan(bytes))
      if (erased.has(path)) hashes.push(before?.hash, after?.hash);
  }
  return hashes.filter((hash) => hash !== undefined);
}
