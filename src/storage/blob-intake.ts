import type { Hash } from "../core/values/hash.ts";
import type { LargeRow, PackState } from "./blob-index.ts";
import type { BlobRows } from "./blob-rows.ts";

/**
 * Bulk writing of contents, beside the batches of a `BlobStore`: for readers of folders, which read, hash and store file
 * by file without giving way, in this thread or in worker threads.
 *
 * Backends: `FileIntake` (a lane of packs for each sink) and `MemoryIntake`.
 *
 * Contract
 * - Nothing of a sink is visible before its `finish` (or `publish`) has resolved; then all of it is durable and visible.
 * - Whoever uses an intake holds a lease of the store, from before the first sink until what names the contents is
 *   durable.
 * - `abandon` and `release` are idempotent.
 */
export interface BlobIntake {
  /** True if a content is stored and its stored bytes are sound, so that it need not be put. */
  isSound(hash: Hash): boolean;
  /** Opens a sink of this thread. `known`: what need not be stored; it is then only hashed. */
  openSink(known: (hash: Hash) => boolean): Promise<BlobSink>;
  /** Opens sinks for worker threads, one for each; `undefined`: this backend takes contents in this thread only. */
  readonly openThreadSinks: ((count: number) => Promise<ThreadSinks>) | undefined;
}

/** Takes contents. */
export interface ContentSink {
  /** Takes a content (its bytes are copied or written). `hash`: its SHA-256, if the caller knows it. */
  put(content: Uint8Array, hash?: Hash): Hash;
  /**
   * Takes a content of any size from its pieces, in bounded memory. `cloneFrom`: a path (also `/proc/self/fd/<fd>`) of
   * a file with the content. It is cloned if the file system can, and `pieces` is then not read.
   */
  putLarge(pieces: Iterable<Uint8Array>, cloneFrom?: string): { readonly hash: Hash; readonly size: number };
}

/** A sink of this thread. */
export interface BlobSink extends ContentSink {
  finish(): Promise<void>;
  abandon(): void;
}

/** The sinks of some worker threads. */
export interface ThreadSinks {
  /** What each thread opens its sink with. Plain data. */
  readonly grants: readonly SinkGrant[];
  /** Makes visible what the sinks have made durable. If two of them wrote a content, the first is used. */
  publish(results: readonly SinkResult[]): Promise<void>;
  release(): void;
}

/** What a worker thread opens its sink with: a lane of the packs in a store's folder. */
export interface SinkGrant {
  readonly home: string;
  readonly lane: LaneGrant;
  /** The blocks of the store that were found sound, shared by all threads. `undefined` if the store is empty. */
  readonly known: SharedArrayBuffer | undefined;
}

/** The right to append to a lane, and the lane's contents. Can be sent to a worker thread. */
export interface LaneGrant {
  readonly lane: number;
  /** The pack in the lane, all of it settled, or `undefined` if there is none. */
  readonly pack: { readonly ulid: string; readonly bytes: number } | undefined;
}

/** The contents that a sink has made durable. Plain data, so it can be sent from a worker thread. */
export interface SinkResult {
  /** The packs that were written to; `rows` refers to them by index. */
  readonly packs: readonly PackState[];
  readonly rows: BlobRows;
  readonly large: readonly LargeRow[];
  /** True if some of it replaces damaged contents. */
  readonly replaces?: boolean;
}
