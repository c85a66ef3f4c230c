import { decodeAside } from "../../src/core/records/aside.ts";
import type { RecordBody } from "../../src/core/values/canonical-json.ts";
import type { Hash } from "../../src/core/values/hash.ts";
import { decodePlan } from "../../src/core/tree/plan.ts";
import type { LogEventShape } from "../../src/api/shapes.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { FileBlobStore } from "../../src/storage/files/file-blob-store.ts";
import type { BlobLayout } from "../../src/storage/layout.ts";
import type { BlobStore } from "../../src/storage/blob-store.ts";
import { MemoryBlobIndex } from "../../src/storage/memory/memory-blob-index.ts";
import { memoryLocks } from "../../src/storage/memory/memory-lock.ts";
import { shown } from "./model-roots.ts";

/** Opens the blob store in files on a simulated disk, for reading only. Writing throws. */
export function openForReading(disk: SimDisk, layout: BlobLayout): Promise<BlobStore> {
  return FileBlobStore.open({
    disk,
    layout,
    openIndex: () => ({ index: new MemoryBlobIndex(), fresh: true, readOnly: true }),
    lock: memoryLocks(),
    newPackId: () => {
      throw new Error("nothing is written");
    },
  });
}

async function readContents(open: () => Promise<BlobStore>, hashes: readonly Hash[]): Promise<Map<Hash, Uint8Array>> {
  const blobs = await open();
  try {
    const contents = new Map<Hash, Uint8Array>();
    for await (const [hash, reader] of blobs.readMany(hashes))
      if (reader !== undefined) contents.set(hash, Buffer.concat(await Array.fromAsync(reader.pieces())));
    return contents;
  } finally {
    await blobs.close();
  }
}

/**
 * Returns the earlier states of omitted paths that operations have kept aside, each as `<path>\0<state>` (see `State`).
 * `events` is the part of the log that is searched. A state counts only if the store can still return its content.
 */
export async function keptAside(
  open: () => Promise<BlobStore>,
  events: readonly LogEventShape[],
): Promise<Set<string>> {
  const plans = events.flatMap(({ record }) => decodeAside(record as RecordBody)?.plan ?? []);
  const changes = [...(await readContents(open, plans)).values()].flatMap((plan) => decodePlan(plan));
  const before = changes.flatMap(({ path, before: entry }) => (entry?.hash === undefined ? [] : [{ ...entry, path }]));
  const contents = await readContents(
    open,
    before.flatMap(({ hash }) => hash ?? []),
  );
  const kept = before.flatMap(({ path, kind, mode, hash }) => {
    const content = hash === undefined ? undefined : contents.get(hash);
    if (content === undefined) return [];
    const text = Buffer.from(content).toString();
    return `${shown(path)}\0${kind === "symlink" ? "->" : (mode & 0o777).toString(8)} ${text}`;
  });
  return new Set(kept);
}
