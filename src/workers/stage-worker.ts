import { parentPort, workerData } from "node:worker_threads";
import { checkBlocks, type BlockBatch, type BlockColumns } from "./block-job.ts";
import { stageBatch, type StageBatch, type StageColumns } from "./stage-job.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import type { PackRow } from "../storage/blob-index.ts";
import { storeLayout } from "../storage/files/layout.ts";
import { PackReader } from "../storage/files/pack-reader.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";

/**
 * A composition root as `ingest-worker.ts` is: one thread of a large restore, or of a first sync. It joins the packs of a
 * store, or blocks that have come, to confined writes.
 */

/** What a worker begins with. */
export interface StageWorkerData {
  readonly home: string;
  /** The folder beneath which it writes. */
  readonly base: string;
}

/** `failed`: whoever asked does it himself, and meets the same, or does not. */
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
    // Nothing is lost by it: what is not told as written is written by who asked, who meets the same error.
    port.postMessage({ kind: "failed" } satisfies StageReply);
  } finally {
    // It may be kept for a while, and packs that are open keep their space. No block is in two batches.
    tools.packs.close();
    tools.fs.release();
  }
});
