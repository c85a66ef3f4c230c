import type { Hash } from "../../core/values/hash.ts";
import { blobBlocksSuite } from "../../testing/blob-blocks-suite.ts";
import { blobStoreSuite, type BlobBackend } from "../../testing/blob-store-suite.ts";
import { TurnQueue } from "../../util/turn-queue.ts";
import { MemoryBlobStore } from "./memory-blob-store.ts";
import { MemoryLock } from "./memory-lock.ts";

function begin(): BlobBackend {
  const contents = new Map<Hash, Buffer>();
  const queue = new TurnQueue();
  return {
    open: async () => new MemoryBlobStore({ contents, lock: new MemoryLock(queue), lockWaitMs: 100 }),
    flipBit: (hash) => {
      const bytes = contents.get(hash);
      if (bytes !== undefined) bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    },
  };
}

blobStoreSuite("MemoryBlobStore", begin);
blobBlocksSuite("MemoryBlobStore", begin);
