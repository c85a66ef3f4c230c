import type { Hash } from "../core/values/hash.ts";
import type { LargeRow, PackState } from "./blob-index.ts";
import type { BlobRows } from "./blob-rows.ts";

/**
 * Writes many contents at once; an alternative to the batches of a `BlobStore`. Puts are synchronous, because a capture
 * reads, hashes and stores one file after the other, in this thread or in worker threads.
 *
 * Backends: `FileIntake` (each sink appends to packs of its own) and `MemoryIntake`.
 *
 * Contract
 * - The contents of a `BlobSink` become visible when its `finish` resolves. The contents of the sinks of worker threads
 *   become visible when `ThreadSinks.publish` resolves. In both cases, the contents are durable by then.
 * - The user of an intake takes a lease of the store before it opens the first sink. The user holds the lease until the
 *   events that name the contents are durable.
 * - `abandon` and `release` are idempotent.
 */
export interface BlobIntake {
  /** True if the content is stored and its bytes are not damaged, so that the content need not be put. */
  isSound(hash: Hash): boolean;
  /** Opens a sink in this thread. `known`: returns true for a content that the sink only hashes, and does not store. */
  openSink(known: (hash: Hash) => boolean): Promise<BlobSink>;
  /**
   * Opens one sink for each of `count` worker threads. `undefined` if the backend takes contents in this thread only.
   */
  readonly openThreadSinks: ((count: number) => Promise<ThreadSinks>) | undefined;
}

export interface ContentSink {
  /**
   * Takes the content, and returns its hash. Does not keep `content`, so the caller may reuse its memory afterwards.
   * `hash` is the SHA-256, if the caller knows it.
   */
  put(content: Uint8Array, hash?: Hash): Hash;
  /**
   * Takes a content of any size, in bounded memory. `cloneFrom` is the path (or `/proc/self/fd/<fd>`) of a file with
   * the content. If the file system can clone the file, `pieces` is not read.
   */
  putLarge(pieces: Iterable<Uint8Array>, cloneFrom?: string): { readonly hash: Hash; readonly size: number };
}

export interface BlobSink extends ContentSink {
  finish(): Promise<void>;
  abandon(): void;
}

export interface ThreadSinks {
  /** The grants, one for each thread. A grant is plain data. */
  readonly grants: readonly SinkGrant[];
  /** Makes the contents of the sinks visible. If two sinks wrote the same content, one of the copies is used. */
  publish(results: readonly SinkResult[]): Promise<void>;
  release(): void;
}

/** The grant with which a worker thread opens its sink. */
export interface SinkGrant {
  readonly home: string;
  readonly lane: LaneGrant;
  /** The memory in which all threads note the blocks that they found sound. `undefined` if the store is empty. */
  readonly known: SharedArrayBuffer | undefined;
}

/**
 * The right to append to a lane: the place of one pack to which one writer at a time appends. A grant is plain data, so
 * it can be sent to a worker thread.
 */
export interface LaneGrant {
  readonly lane: number;
  /** The pack in the lane. All its `bytes` are durable and checked. `undefined` if the lane is empty. */
  readonly pack: { readonly ulid: string; readonly bytes: number } | undefined;
}

/** The contents that a sink has made durable. A result is plain data, so a worker thread can send it. */
export interface SinkResult {
  /** The packs with the contents of `rows`. The `pack` of a row is a position in this list. */
  readonly packs: readonly PackState[];
  readonly rows: BlobRows;
  readonly large: readonly LargeRow[];
  /** True if some of these contents replace damaged contents. Default: false. */
  readonly replaces?: boolean;
}
