import { parentPort, workerData } from "node:worker_threads";
import { ChronicleError } from "../core/values/errors.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import type { PackRow } from "../storage/blob-index.ts";
import { storeLayout } from "../storage/layout.ts";
import { PackReader } from "../storage/files/pack-reader.ts";
import { searchBatch, type SearchBatch, type SearchOutcome } from "./search-job.ts";

// This file is the composition root of one worker thread of a large search, like `stage-worker.ts`. The thread reads
// packs of a store, and writes nothing.

export interface SearchWorkerData {
  readonly home: string;
}

export type SearchReply =
  | { readonly kind: "found"; readonly outcomes: readonly SearchOutcome[] }
  | { readonly kind: "too-many" }
  | { readonly kind: "failed"; readonly message: string };

const port = parentPort;
if (port === null) throw new Error("this file is a worker thread");

let known: readonly PackRow[] = [];
const { home } = workerData as SearchWorkerData;
const packs = new PackReader(new NodeDisk(), storeLayout(home).blobs, { packs: () => known });

port.on("message", (batch: SearchBatch) => {
  try {
    if ("packs" in batch.contents) known = batch.contents.packs;
    port.postMessage({ kind: "found", outcomes: searchBatch(packs, batch) } satisfies SearchReply);
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "LIMIT_EXCEEDED")
      return port.postMessage({ kind: "too-many" } satisfies SearchReply);
    const message = error instanceof Error ? error.message : String(error);
    port.postMessage({ kind: "failed", message } satisfies SearchReply);
  } finally {
    // Close the packs after each batch, because a deleted pack keeps its disk space while it is open. `close` also
    // drops the cached blocks, which are not needed again: no block is split between two batches.
    packs.close();
  }
});
