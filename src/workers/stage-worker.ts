import { parentPort, workerData } from "node:worker_threads";
import { checkBlocks, type BlockBatch, type BlockColumns } from "./block-job.ts";
import { stageBatch, type StageBatch, type StageColumns } from "./stage-job.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import type { PackRow } from "../storage/blob-index.ts";
import { storeLayout } from "../storage/layout.ts";
import { PackReader } from "../storage/files/pack-reader.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";

/**
 * A composition root like `ingest-worker.ts`: one thread of a large restore, or of a first sync. It connects the packs
 * of a store, or received blocks, to confined writes.
 */

/** The initial data of a worker. */
export interface StageWorkerData {
  readonly home: string;
  /** The folder beneath which it writes. */
  readonly base: string;
}

/** `failed`: the caller does the work itself, and may meet the same error. */
export type StageReply =
  | { readonly kind: "columns"; readonly columns: StageColumns }
  | { readonly kind: "blocks"; readonly columns: BlockColumns }
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

function answer(batch: StageBatch | BlockBatch): StageReply {
  if (batch.kind === "blocks") return { kind: "blocks", columns: checkBlocks(tools.fs, batch) };
  packs = batch.packs;
  return { kind: "columns", columns: stageBatch(tools, batch) };
}

port.on("message", (batch: StageBatch | BlockBatch) => {
  try {
    port.postMessage(answer(batch));
  } catch {
    // Nothing is lost: the caller writes the files that are not reported as written, and meets the same error.
    port.postMessage({ kind: "failed" } satisfies StageReply);
  } finally {
    // The worker may be kept for a while, and open packs keep their space. No block is in two batches.
    tools.packs.close();
    tools.fs.release();
  }
});
