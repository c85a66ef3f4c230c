import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { countingIds, flipStored, SimBlobs } from "../../testing/blob-store-rig.ts";
import { blobBlocksSuite } from "../../testing/blob-blocks-suite.ts";
import { blobStoreSuite, type BlobBackend } from "../../testing/blob-store-suite.ts";
import { sqliteBlobIndex } from "../sqlite/sqlite-blob-index.ts";
import { SqliteLock } from "../sqlite/sqlite-lock.ts";
import { FileBlobStore } from "./file-blob-store.ts";
import { storeLayout } from "./layout.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-blobs-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const disk = new NodeDisk();
const newPackId = countingIds();

function onDisk(): BlobBackend {
  const home = join(folder, newPackId());
  disk.makeFolder(home, 0o700);
  const layout = storeLayout(home).blobs;
  const openIndex = sqliteBlobIndex(disk, layout.index);
  const lock = (path: string): SqliteLock => new SqliteLock(disk, path);
  return {
    open: () => FileBlobStore.open({ disk, layout, openIndex, lock, newPackId, lockWaitMs: 100 }),
    flipBit: (hash) => flipStored(disk, layout, hash),
  };
}

function onSimDisk(): BlobBackend {
  const blobs = new SimBlobs();
  return {
    open: () => blobs.open({ lockWaitMs: 100 }),
    flipBit: (hash) => flipStored(blobs.disk, blobs.layout, hash),
  };
}

blobStoreSuite("FileBlobStore on a disk", onDisk);
blobStoreSuite("FileBlobStore on a simulated disk", onSimDisk);
blobBlocksSuite("FileBlobStore on a disk", onDisk);
blobBlocksSuite("FileBlobStore on a simulated disk", onSimDisk);
