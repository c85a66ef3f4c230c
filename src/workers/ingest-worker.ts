import { parentPort, workerData } from "node:worker_threads";
import { hashingSink, ingestBatch, storingSink, type IngestBatch, type IngestColumns } from "./ingest-job.ts";
import { ChronicleError, codedError, type ErrorCode } from "../core/values/errors.ts";
import type { Hash } from "../core/values/hash.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import type { SinkGrant, SinkResult } from "../storage/blob-intake.ts";
import { type BlobLayout, storeLayout } from "../storage/layout.ts";
import { CheckedBlocks, SoundContents } from "../storage/files/sound-contents.ts";
import { openPackSink, type PackSink } from "../storage/files/pack-sink.ts";
import { sqliteBlobIndex } from "../storage/sqlite/sqlite-blob-index.ts";
import { newUlid } from "../util/ulid.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";

// This file is the composition root of a worker thread of a large capture. The thread reads files only beneath the
// roots (`ConfinedFs`), and writes their contents into a pack of its own.

/** The initial data of a worker. Without a `grant`, the worker only computes hashes. */
export interface IngestWorkerData {
  readonly roots: readonly string[];
  readonly grant: SinkGrant | undefined;
  /** The hashes of erased contents, which must not be stored. */
  readonly erased: ReadonlySet<Hash> | undefined;
}

export type IngestRequest =
  | { readonly kind: "batch"; readonly batch: IngestBatch }
  | { readonly kind: "finish" }
  | { readonly kind: "abandon" };

export type IngestReply =
  | { readonly kind: "columns"; readonly columns: IngestColumns }
  | { readonly kind: "finished"; readonly result: SinkResult | undefined }
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      readonly hint: string | undefined;
      readonly errno: string | undefined;
    };

const port = parentPort;
if (port === null) throw new Error("this file must be run as a worker thread");

const { roots, grant, erased } = workerData as IngestWorkerData;
const disk = new NodeDisk();
const folders = roots.map((root) => new ConfinedFs(disk, root));
/** True if a content was stored but damaged, so that the newly stored copy must replace it. */
let replaces = false;

function soundContents(layout: BlobLayout, buffer: SharedArrayBuffer): SoundContents {
  const { index } = sqliteBlobIndex(disk, layout.index)();
  return new SoundContents(disk, layout, { index, checked: new CheckedBlocks(buffer) });
}

function isSound(contents: SoundContents, hash: Hash): boolean {
  const state = contents.stateOf(hash);
  if (state === "damaged") replaces = true;
  return state === "sound";
}

function openSink({ home, lane, known: checked }: SinkGrant): PackSink {
  const layout = storeLayout(home).blobs;
  const sound = checked === undefined ? undefined : soundContents(layout, checked);
  return openPackSink(disk, layout, {
    grant: lane,
    newPackId: newUlid,
    known: (hash) => erased?.has(hash) === true || (sound !== undefined && isSound(sound, hash)),
  });
}

const sink = grant === undefined ? undefined : openSink(grant);
const stable = sink === undefined ? hashingSink : storingSink(sink);

function answer(request: IngestRequest): IngestReply {
  if (request.kind === "batch") return { kind: "columns", columns: ingestBatch(folders, request.batch, stable) };
  for (const folder of folders) folder.release();
  if (request.kind === "abandon") {
    sink?.abandon();
    return { kind: "finished", result: undefined };
  }
  return { kind: "finished", result: sink === undefined ? undefined : { ...sink.finish(), replaces } };
}

port.on("message", (request: IngestRequest) => {
  try {
    port.postMessage(answer(request));
  } catch (error) {
    port.postMessage(failureOf(error));
  }
});

/** Converts an error to a reply, because `postMessage` does not transfer the own properties of an error. */
function failureOf(error: unknown): IngestReply {
  const known = codedError(error);
  if (known instanceof ChronicleError) {
    const { code, message, hint, data } = known;
    return {
      kind: "failed",
      code,
      message,
      hint,
      errno: typeof data["errno"] === "string" ? data["errno"] : undefined,
    };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { kind: "failed", code: "IO", message, hint: undefined, errno: undefined };
}
