import type { Hash } from "../core/values/hash.ts";
import type { Disk } from "../disk/disk.ts";
import { SimDisk } from "./sim-disk/sim-disk.ts";
import { FileBlobStore, type FileBlobStoreOptions } from "../storage/files/file-blob-store.ts";
import { storeLayout, type BlobLayout } from "../storage/layout.ts";
import { readAt, scanPack } from "../storage/files/pack-scan.ts";
import { PACK_HEADER_BYTES } from "../storage/block.ts";
import { MemoryBlobIndex } from "../storage/memory/memory-blob-index.ts";
import { memoryLocks } from "../storage/memory/memory-lock.ts";

/** Generates names for packs in tests, in order: 26 characters, unique within a process. */
export function countingIds(): () => string {
  let count = 0;
  return () => String((count += 1)).padStart(26, "0");
}

/** A file blob store on a simulated disk. Several objects can have it open, as several processes would. */
export class SimBlobs {
  readonly disk: SimDisk;
  readonly layout: BlobLayout = storeLayout("/home").blobs;
  readonly newPackId: () => string;
  #locks = memoryLocks();
  #index: MemoryBlobIndex | undefined;

  constructor(disk: SimDisk = newHome(), newPackId: () => string = countingIds()) {
    this.disk = disk;
    this.newPackId = newPackId;
  }

  /** The index that all objects share, as they would share a file. */
  get index(): MemoryBlobIndex {
    return (this.#index ??= new KeptIndex());
  }

  open(options: Partial<FileBlobStoreOptions> = {}): Promise<FileBlobStore> {
    const { disk, layout, newPackId } = this;
    const openIndex = () => {
      const fresh = this.#index === undefined;
      return { index: this.index, fresh, readOnly: false };
    };
    return FileBlobStore.open({ disk, layout, openIndex, lock: this.#locks, newPackId, lockWaitMs: 50, ...options });
  }

  /** Returns the store as a new process finds it: on the same disk, with an empty index and no locks. */
  restarted(disk: SimDisk = this.disk): SimBlobs {
    return new SimBlobs(disk, this.newPackId);
  }

  loseIndex(): void {
    this.#index = undefined;
  }
}

class KeptIndex extends MemoryBlobIndex {
  override close(): void {
    // The other objects on the same store still use this index.
  }
}

function newHome(): SimDisk {
  const disk = new SimDisk();
  disk.makeFolder("/home");
  return disk;
}

/** Returns the position of the stored bytes of the block that contains a content, in the pack at `path`. */
export function findStored(
  disk: Disk,
  path: string,
  hash: Hash,
): { readonly block: number; readonly stored: number; readonly length: number } | undefined {
  const fd = disk.open(path, "read");
  try {
    for (const part of scanPack(disk, fd, PACK_HEADER_BYTES, disk.fstat(fd).size)) {
      if (part.kind === "block" && part.head.entries.some((entry) => entry.hash === hash)) {
        return { block: part.offset, stored: part.offset + part.head.headBytes, length: part.head.storedLength };
      }
    }
    return undefined;
  } finally {
    disk.close(fd);
  }
}

/** Flips one bit of a file. */
export function flipAt(disk: Disk, path: string, at: number): void {
  const fd = disk.open(path, "update");
  const byte = readAt(disk, fd, at, 1);
  byte[0] = (byte[0] ?? 0) ^ 4;
  disk.write(fd, byte, at);
  disk.close(fd);
}

/** Flips a bit in the middle of a content's stored bytes, in lane 0 or in its large file. */
export function flipStored(disk: Disk, layout: BlobLayout, hash: Hash): void {
  for (const path of [layout.largeRaw(hash), layout.largePacked(hash)]) {
    const size = disk.lstat(path)?.size;
    if (size !== undefined) flipAt(disk, path, size >> 1);
  }
  if (disk.lstat(layout.activePack(0)) === undefined) return;
  const found = findStored(disk, layout.activePack(0), hash);
  if (found !== undefined) flipAt(disk, layout.activePack(0), found.stored + (found.length >> 1));
}
