import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import { linkEntry } from "../engine/capture/read-disk.ts";
import type { IngestResult } from "../engine/log/context.ts";
import { hashFromBytes, type Hash } from "../core/values/hash.ts";
import { splitRoot } from "../core/values/path.ts";
import type { ScannedPath, TrackedRoot } from "../worktree/worktree.ts";
import { OUTCOME, statOfRow, type IngestBatch, type IngestColumns } from "./ingest-job.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { IngestReply, IngestRequest, IngestWorkerData } from "./ingest-worker.ts";
import type { SinkGrant, SinkResult } from "../storage/blob-intake.ts";
import { workerFile } from "./worker-file.ts";
import { optional } from "../util/optional.ts";

/** Returns the columns to send for some scanned paths. */
export function toBatch(roots: readonly TrackedRoot[], scanned: readonly ScannedPath[]): IngestBatch {
  const targets = new Map<number, Uint8Array>();
  const paths: string[] = [];
  const rootNumbers: number[] = [];
  scanned.forEach((one, i) => {
    const { root, path } = splitRoot(one.path);
    rootNumbers.push(roots.findIndex((tracked) => tracked.id === root));
    paths.push(path);
    if (one.stat.kind === "symlink") targets.set(i, one.target ?? new Uint8Array());
  });
  return { roots: rootNumbers, paths, targets };
}

/** Converts the returned columns to the results for these paths. */
export function toResults(scanned: readonly ScannedPath[], columns: IngestColumns): IngestResult[] {
  return scanned.map((one, i) => toResult(one, i, columns));
}

function toResult(one: ScannedPath, row: number, columns: IngestColumns): IngestResult {
  const { path } = one;
  if (one.stat.kind === "symlink") {
    return { path, entry: linkEntry(path, one.stat, one.target ?? new Uint8Array()), stat: one.stat, unstable: false };
  }
  const outcome = columns.outcome[row];
  if (outcome === OUTCOME.gone) return { path, gone: true };
  if (outcome === OUTCOME.unreadable) {
    return { path, omission: { path, reason: "unreadable", detail: columns.details.get(row) ?? "" } };
  }
  if (outcome === OUTCOME.other) {
    return { path, omission: { path, reason: "unstable", detail: "it became something else than a file meanwhile" } };
  }
  const stat = statOfRow(columns, row, one.stat);
  const hash = hashFromBytes(columns.hashes.subarray(row * 32, row * 32 + 32));
  const mtimeMs = Number(stat.mtimeNs / 1_000_000n);
  const entry = { path, kind: "file" as const, mode: stat.mode, size: columns.sizes[row] ?? 0, mtimeMs, hash };
  const isDatabase = outcome === OUTCOME.database || outcome === OUTCOME.unstableDatabase;
  const unstable = outcome === OUTCOME.unstable || outcome === OUTCOME.unstableDatabase;
  return { path, entry, stat, unstable, ...(isDatabase ? { isDatabase } : {}) };
}

/** Most bytes or paths of a batch, so that all workers finish at about the same time. */
const BATCH_BYTES = 4 * 1024 * 1024;
const BATCH_PATHS = 256;
/** Batches queued for a worker, so that it never idles between two. */
const AHEAD = 2;
const MAX_WORKERS = 8;
/** Batches that may wait for a worker before the scan is paused. */
const MOST_WAITING = 32;

/** The input and output of a pool. */
interface PoolOptions {
  readonly roots: readonly TrackedRoot[];
  /** What each worker opens its sink with; `undefined`: only hash. */
  readonly grants: readonly SinkGrant[] | undefined;
  /** Contents that must not be stored. */
  readonly erased: ReadonlySet<Hash> | undefined;
  readonly onResult: (result: IngestResult) => void;
}

/** Returns the number of workers of a bulk capture. */
export function poolSize(): number {
  return Math.min(MAX_WORKERS, availableParallelism());
}

interface Job {
  readonly scanned: readonly ScannedPath[];
}

/**
 * Worker threads that read, hash, compress and write, each to a pack of its own. A free worker takes the next batch.
 */
export class IngestPool {
  readonly #options: PoolOptions;
  readonly #members: PoolMember[] = [];
  readonly #queue: Job[] = [];
  #bytes = 0;
  #open: ScannedPath[] = [];
  #openBytes = 0;
  #failure: unknown;
  #room: PromiseWithResolvers<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;
  /** Called with the number of bytes read so far by all workers. */
  onBytes: ((bytes: number) => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    const count = options.grants?.length ?? poolSize();
    for (let i = 0; i < count; i += 1) this.#members.push(this.#spawn(options.grants?.[i]));
  }

  add(scanned: Iterable<ScannedPath>): void {
    for (const one of scanned) {
      if (one.stat.kind === "dir") continue;
      this.#open.push(one);
      this.#openBytes += one.stat.size;
      if (this.#open.length >= BATCH_PATHS || this.#openBytes >= BATCH_BYTES) this.#closeBatch();
    }
    this.#feed();
  }

  /** Resolves when few enough batches wait: otherwise a fast scan would pile up work for slow readers. */
  whenRoom(): Promise<void> {
    if (this.#queue.length < MOST_WAITING || this.#failure !== undefined) return Promise.resolve();
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  /** Waits until everything is read, and every worker's pack is durable. */
  async finish(): Promise<readonly SinkResult[]> {
    this.#closeBatch();
    this.#feed();
    await this.#whenIdle();
    const sinks = await Promise.all(this.#members.map((member) => member.end("finish")));
    return sinks.flatMap((sink) => sink ?? []);
  }

  async abandon(): Promise<void> {
    this.#queue.length = 0;
    await Promise.allSettled(this.#members.map((member) => member.end("abandon")));
  }

  #spawn(grant: SinkGrant | undefined): PoolMember {
    const data: IngestWorkerData = {
      roots: this.#options.roots.map((root) => root.folder),
      grant,
      erased: this.#options.erased,
    };
    return new PoolMember(data, {
      onColumns: (scanned, columns) => {
        for (const result of toResults(scanned, columns)) this.#options.onResult(result);
        this.#bytes += columns.bytes;
        this.onBytes?.(this.#bytes);
        this.#feed();
      },
      onFailure: (error) => {
        this.#failure ??= error;
        this.#queue.length = 0;
        this.#settle();
      },
    });
  }

  #closeBatch(): void {
    if (this.#open.length > 0) this.#queue.push({ scanned: this.#open });
    this.#open = [];
    this.#openBytes = 0;
  }

  #feed(): void {
    for (const member of this.#members) {
      while (member.waiting < AHEAD && this.#failure === undefined) {
        const job = this.#queue.shift();
        if (job === undefined) break;
        member.send(job.scanned, toBatch(this.#options.roots, job.scanned));
      }
    }
    this.#settle();
  }

  #settle(): void {
    if (this.#queue.length < MOST_WAITING || this.#failure !== undefined) {
      this.#room?.resolve();
      this.#room = undefined;
    }
    const busy = this.#queue.length > 0 || this.#members.some((member) => member.waiting > 0);
    if (this.#idle === undefined) return;
    if (this.#failure !== undefined) this.#idle.reject(this.#failure);
    else if (!busy) this.#idle.resolve();
  }

  #whenIdle(): Promise<void> {
    this.#idle = Promise.withResolvers<void>();
    this.#settle();
    return this.#idle.promise;
  }
}

interface MemberEvents {
  readonly onColumns: (scanned: readonly ScannedPath[], columns: IngestColumns) => void;
  readonly onFailure: (error: unknown) => void;
}

/** One worker thread and the batches sent to it. */
class PoolMember {
  readonly #worker: Worker;
  readonly #events: MemberEvents;
  readonly #sent: (readonly ScannedPath[])[] = [];
  readonly #answer = Promise.withResolvers<SinkResult | undefined>();
  #end: Promise<SinkResult | undefined> | undefined;

  constructor(data: IngestWorkerData, events: MemberEvents) {
    this.#events = events;
    // Prevents an unhandled rejection: the answer may not be awaited yet, and `onFailure` reports the failure.
    this.#answer.promise.catch(() => undefined);
    this.#worker = new Worker(workerFile("ingest-worker"), {
      workerData: data,
      execArgv: [],
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    this.#worker.on("message", (reply: IngestReply) => this.#onReply(reply));
    this.#worker.on("error", (error) => this.#fail(error));
    this.#worker.on("exit", () => this.#fail(new ChronicleError("IO", "a worker thread ended too early")));
  }

  get waiting(): number {
    return this.#sent.length;
  }

  send(scanned: readonly ScannedPath[], batch: ReturnType<typeof toBatch>): void {
    this.#sent.push(scanned);
    this.#worker.postMessage({ kind: "batch", batch } satisfies IngestRequest);
  }

  /** Ends the worker. Further calls wait for the same end. Rejects if the worker has failed before, or fails now. */
  end(kind: "finish" | "abandon"): Promise<SinkResult | undefined> {
    return (this.#end ??= this.#endWith(kind));
  }

  async #endWith(kind: "finish" | "abandon"): Promise<SinkResult | undefined> {
    this.#worker.postMessage({ kind } satisfies IngestRequest);
    try {
      return await this.#answer.promise;
    } finally {
      await this.#worker.terminate();
    }
  }

  #onReply(reply: IngestReply): void {
    if (reply.kind === "finished") this.#answer.resolve(reply.result);
    else if (reply.kind === "failed") {
      const { code, message, hint, errno } = reply;
      const data = errno === undefined ? {} : { data: { errno } };
      this.#fail(new ChronicleError(code, message, { ...data, ...optional({ hint }) }));
    } else {
      const scanned = this.#sent.shift();
      if (scanned !== undefined) this.#events.onColumns(scanned, reply.columns);
    }
  }

  #fail(error: unknown): void {
    this.#sent.length = 0;
    this.#answer.reject(error);
    this.#events.onFailure(error);
  }
}
