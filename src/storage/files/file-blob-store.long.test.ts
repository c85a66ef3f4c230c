import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { countingIds, flipStored, SimBlobs } from "../../testing/blob-store-rig.ts";
import { blobBlocksSuite } from "../../testing/blob-blocks-suite.ts";
import { blobStoreSuite, type BlobBackend } from "../../testing/blob-store-suite.ts";
import { sqliteBlobIndex } from "../sqlite/sqlite-blob-index.ts";
import { SqliteLock } from "../sqlite/sqlite-lock.ts";
import { FileBlobStore } from "./file-blob-store.ts";
import { storeLayout } from "../layout.ts";

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

it("the read of a large content leaves turns of the event loop to the rest of the process", async () => {
  const store = await onDisk().open();
  const content = randomBytes(32 * 1024 ** 2);
  const batch = await store.batch();
  const { hash } = await batch.putStream([content]);
  await batch.commit();
  const reader = await store.open(hash);
  let turns = 0;
  const turn = (): NodeJS.Immediate => setImmediate(() => ((turns += 1), (next = turn())));
  let next = turn();
  let size = 0;
  for await (const piece of reader?.pieces() ?? []) size += piece.length;
  clearImmediate(next);
  await store.close();
  expect(size).toBe(content.length);
  expect(turns).toBeGreaterThanOrEqual(3);
});
