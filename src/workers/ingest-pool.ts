import { availableParallelism } from "node:os";
import { linkEntry } from "../engine/capture/read-disk.ts";
import type { IngestResult } from "../engine/log/context.ts";
import { entryTime } from "../core/values/entry.ts";
import { hashFromBytes, type Hash } from "../core/values/hash.ts";
import { splitRoot } from "../core/values/path.ts";
import type { ScannedPath, TrackedRoot } from "../worktree/worktree.ts";
import { OUTCOME, statOfRow, type IngestBatch, type IngestColumns } from "./ingest-job.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { IngestReply, IngestRequest, IngestWorkerData } from "./ingest-worker.ts";
import type { SinkGrant, SinkResult } from "../storage/blob-intake.ts";
import { WorkerPool } from "./worker-pool.ts";
import { optional } from "../util/optional.ts";

/** The limits of a batch. They are so low that all workers finish at about the same time. */
const BATCH_BYTES = 4 * 1024 * 1024;
const BATCH_PATHS = 256;
/** The maximum number of worker threads of a pool. */
const MAX_WORKERS = 8;

/** The number of batches that may wait for a worker before the scan is paused. */
const MOST_WAITING = 32;

interface PoolOptions {
  readonly roots: readonly TrackedRoot[];
  /** The grants with which the workers open their sinks. If `undefined`, the workers only compute hashes. */
  readonly grants: readonly SinkGrant[] | undefined;
  /** The hashes of erased contents, which must not be stored. */
  readonly erased: ReadonlySet<Hash> | undefined;
  readonly onResult: (result: IngestResult) => void;
}

export function poolSize(): number {
  return Math.min(MAX_WORKERS, availableParallelism());
}

/** Worker threads that read, hash, compress and write. Each thread writes to a pack of its own. */
export class IngestPool {
  readonly #options: PoolOptions;
  readonly #pool: WorkerPool<IngestRequest, IngestReply>;
  readonly #unread = new Set<Promise<void>>();
  #bytes = 0;
  #open: ScannedPath[] = [];
  #openBytes = 0;
  #end: Promise<readonly SinkResult[]> | undefined;
  /** Called with the number of bytes read so far by all workers. */
  onBytes: ((bytes: number) => void) | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    const { grants = Array.from({ length: poolSize() }, () => undefined), erased } = options;
    const roots = options.roots.map((root) => root.folder);
    const data = grants.map((grant): IngestWorkerData => ({ roots, grant, erased }));
    this.#pool = new WorkerPool({ name: "ingest-worker", data, failureOf });
  }

  add(scanned: Iterable<ScannedPath>): void {
    for (const one of scanned) {
      if (one.stat.kind === "dir") continue;
      this.#open.push(one);
      this.#openBytes += one.stat.size;
      if (this.#open.length >= BATCH_PATHS || this.#openBytes >= BATCH_BYTES) this.#closeBatch();
    }
  }

  /**
   * Resolves when fewer than `MOST_WAITING` batches wait for a worker, so that a fast scan does not pile up work for
   * slow readers.
   */
  whenRoom(): Promise<void> {
    return this.#pool.whenRoom(MOST_WAITING);
  }

  /** Waits until everything is read, and every worker's pack is durable. Resolves to the results to publish. */
  async finish(): Promise<readonly SinkResult[]> {
    this.#closeBatch();
    await Promise.all(this.#unread);
    return (this.#end ??= this.#endWith("finish"));
  }

  async abandon(): Promise<void> {
    if (this.#end === undefined) this.#pool.giveUp();
    // A failure is ignored here, because the caller of `finish` gets it.
    await (this.#end ??= this.#endWith("abandon")).catch(() => undefined);
  }

  #closeBatch(): void {
    const scanned = this.#open;
    this.#open = [];
    this.#openBytes = 0;
    if (scanned.length === 0) return;
    const read = this.#read(scanned);
    this.#unread.add(read);
    // A failed batch stays in the set, so that `finish` rejects.
    read.then(
      () => this.#unread.delete(read),
      () => undefined,
    );
  }

  async #read(scanned: readonly ScannedPath[]): Promise<void> {
    const batch = (): IngestRequest => ({ kind: "batch", batch: toBatch(this.#options.roots, scanned) });
    const reply = await this.#pool.give(() => ({ message: batch() }));
    if (reply.kind !== "columns") throw new RangeError(`a batch was answered with ${reply.kind}`);
    for (const result of toResults(scanned, reply.columns)) this.#options.onResult(result);
    this.#bytes += reply.columns.bytes;
    this.onBytes?.(this.#bytes);
  }

  /** Ends the threads, and resolves to the results of their sinks. Rejects if a thread has failed. */
  async #endWith(kind: "finish" | "abandon"): Promise<readonly SinkResult[]> {
    try {
      const replies = await Promise.allSettled(this.#pool.toEach({ kind }));
      return replies.flatMap((reply) => {
        if (reply.status === "rejected") throw reply.reason;
        return reply.value.kind === "finished" && reply.value.result !== undefined ? [reply.value.result] : [];
      });
    } finally {
      await this.#pool[Symbol.asyncDispose]();
    }
  }
}

function failureOf(reply: IngestReply): ChronicleError | undefined {
  if (reply.kind !== "failed") return undefined;
  const { code, message, hint, errno } = reply;
  return new ChronicleError(code, message, {
    ...(errno === undefined ? {} : { data: { errno } }),
    ...optional({ hint }),
  });
}

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
  const time = entryTime(stat.mtimeNs);
  const entry = { path, kind: "file" as const, mode: stat.mode, size: columns.sizes[row] ?? 0, ...time, hash };
  const isDatabase = outcome === OUTCOME.database || outcome === OUTCOME.unstableDatabase;
  const unstable = outcome === OUTCOME.unstable || outcome === OUTCOME.unstableDatabase;
  return { path, entry, stat, unstable, ...(isDatabase ? { isDatabase } : {}) };
}
