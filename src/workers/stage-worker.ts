import { parentPort, workerData } from "node:worker_threads";
import { checkBlocks, type BlockBatch, type BlockColumns } from "./block-job.ts";
import { type RemoveBatch, removeBatch, stageBatch, type StageBatch, type StageColumns } from "./stage-job.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import type { PackRow } from "../storage/blob-index.ts";
import { storeLayout } from "../storage/layout.ts";
import { PackReader } from "../storage/files/pack-reader.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";

// This file is the composition root of one worker thread of a large restore or a first sync, like `ingest-worker.ts`.
// The thread writes files from the packs of a store, or from received blocks, and removes files. The thread opens,
// makes and removes these files only through a `ConfinedFs`.

export interface StageWorkerData {
  readonly home: string;
  /** The folder beneath which the worker writes. */
  readonly base: string;
}

export type StageRequest = StageBatch | BlockBatch | RemoveBatch;

/**
 * The reply to a batch. After `failed`, the caller does the work itself, and gets the same error if its cause persists.
 */
export type StageReply =
  | { readonly kind: "columns"; readonly columns: StageColumns }
  | { readonly kind: "blocks"; readonly columns: BlockColumns }
  | { readonly kind: "removed" }
  | { readonly kind: "failed" };

const port = parentPort;
if (port === null) throw new Error("this file is a worker thread");

const { home, base } = workerData as StageWorkerData;
let packs: readonly PackRow[] = [];
const disk = new NodeDisk();
const tools = {
  disk,
  fs: new ConfinedFs(disk, base),
  packs: new PackReader(disk, storeLayout(home).blobs, { packs: () => packs }),
};

function answer(batch: StageRequest): StageReply {
  if (batch.kind === "blocks") return { kind: "blocks", columns: checkBlocks(tools.fs, batch) };
  if (batch.kind === "remove") {
    removeBatch(tools.fs, batch);
    return { kind: "removed" };
  }
  packs = batch.packs;
  return { kind: "columns", columns: stageBatch(tools, batch) };
}

port.on("message", (batch: StageRequest) => {
  try {
    port.postMessage(answer(batch));
  } catch {
    // The error can be dropped: the caller does the work itself, and gets the same error if its cause persists.
    port.postMessage({ kind: "failed" } satisfies StageReply);
  } finally {
    // A kept worker must keep no pack open, because a deleted pack keeps its disk space while it is open. `close` also
    // drops the cached blocks, which are not needed again: no block is split between two batches.
    tools.packs.close();
    tools.fs.release();
  }
});
