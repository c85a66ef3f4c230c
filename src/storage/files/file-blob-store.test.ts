import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { Hash } from "../../core/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { SimDisk } from "../../disk/sim-disk.ts";
import { blobStoreSuite } from "../../testing/blob-store-suite.ts";
import { MemoryBlobIndex } from "../memory/memory-blob-index.ts";
import { memoryLocks } from "../memory/memory-lock.ts";
import { sqliteBlobIndex } from "../sqlite/sqlite-blob-index.ts";
import { SqliteLock } from "../sqlite/sqlite-lock.ts";
import type { BlobIndex } from "./blob-index.ts";
import { FileBlobStore } from "./file-blob-store.ts";
import { storeLayout, type BlobLayout } from "./layout.ts";
import { readAt, scanPack } from "./pack-scan.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-blobs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const newPackId = (): string => String((count += 1)).padStart(26, "0");

/** Flips a bit in the middle of the stored bytes of the block or the file that holds a content. */
function flipBit(disk: Disk, layout: BlobLayout, hash: Hash): void {
  for (const path of [layout.largeRaw(hash), layout.largePacked(hash)]) {
    const size = disk.lstat(path)?.size;
    if (size !== undefined) flipAt(disk, path, size >> 1);
  }
  const path = layout.activePack(0);
  const fd = disk.open(path, "read");
  const size = disk.fstat(fd).size;
  for (const part of scanPack(disk, fd, 40, size)) {
    if (part.kind === "block" && part.head.entries.some((entry) => entry.hash === hash)) {
      flipAt(disk, path, part.offset + part.head.headBytes + (part.head.storedLength >> 1));
    }
  }
  disk.close(fd);
}

function flipAt(disk: Disk, path: string, at: number): void {
  const fd = disk.open(path, "update");
  const byte = readAt(disk, fd, at, 1);
  byte[0] = (byte[0] ?? 0) ^ 4;
  disk.write(fd, byte, at);
  disk.close(fd);
}

blobStoreSuite("FileBlobStore on a disk", () => {
  const disk = new NodeDisk();
  const home = join(folder, newPackId());
  disk.makeFolder(home, 0o700);
  const layout = storeLayout(home).blobs;
  return {
    open: () =>
      FileBlobStore.open({
        disk,
        layout,
        openIndex: sqliteBlobIndex(disk, layout.index),
        lock: (path) => new SqliteLock(disk, path),
        newPackId,
        lockWaitMs: 100,
      }),
    flipBit: (hash) => flipBit(disk, layout, hash),
  };
});

blobStoreSuite("FileBlobStore on a simulated disk", () => {
  const disk = new SimDisk();
  disk.makeFolder("/home");
  const layout = storeLayout("/home").blobs;
  const lock = memoryLocks();
  const index: BlobIndex = new MemoryBlobIndex();
  index.close = () => undefined;
  let fresh = true;
  const openIndex = () => {
    const opened = { index, fresh, readOnly: false };
    fresh = false;
    return opened;
  };
  return {
    open: () => FileBlobStore.open({ disk, layout, openIndex, lock, newPackId, lockWaitMs: 100 }),
    flipBit: (hash) => flipBit(disk, layout, hash),
  };
});
