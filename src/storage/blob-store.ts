import type { Hash } from "../core/values/hash.ts";
import type { BlobBlock } from "./blob-block.ts";
import type { HeldLock } from "./lock.ts";

/**
 * Immutable bytes, named by their SHA-256, stored once.
 *
 * Backends: `MemoryBlobStore`, `FileBlobStore` (packs).
 *
 * Contract
 * - Durable before visible: `has`, `get` and `list` know a content only once the `commit` of the batch that put it has
 *   resolved (or an earlier batch's). A batch that is abandoned or crashes leaves nothing visible.
 * - Putting a content that is already stored costs no space and succeeds. The stored bytes are read first, once per
 *   process; if they are damaged, the good bytes replace them.
 * - Every read is checked: bytes that do not hash to their name throw `BLOB_CORRUPT`; they are never returned as good.
 *   A stream is checked at its end: a consumer must not act on its bytes before it has ended without an error.
 * - Absence is `undefined`. Concurrent batches, also of other processes, are safe.
 * - After a failed sync the store is poisoned: every write throws `POISONED` until the disk takes a write and a sync of
 *   another file, and the batches that failed with it have ended. Nothing unsynced is stored then. A sync is never
 *   retried.
 */
export interface BlobStore {
  /** Returns those of the hashes that are stored durably. */
  has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /**
   * Returns those of the hashes whose content need not be stored again: like `has`, without damaged contents. The
   * stored bytes are read for that, once per process.
   */
  sound(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /**
   * Keeps the collector out while it is held. Take it before the first `has` on whose answer an event will depend, and
   * hold it until that event is durable. Batches hold a lease of their own. Many may be held at once.
   */
  lease(): Promise<HeldLock>;
  /** From now on, a content that is put again counts as stored only after its stored bytes were read again. */
  doubt(): void;
  /** Begins a batch of writes. Finish it with `commit` or `abandon`. */
  batch(): Promise<BlobBatch>;
  /** Returns the content, or `undefined`. For contents that fit in memory. */
  get(hash: Hash): Promise<Buffer | undefined>;
  /** A content of any size, piece by piece (at most 1 MiB each), or `undefined`. */
  open(hash: Hash): Promise<BlobReader | undefined>;
  /** Reads many contents, in storage order. Missing ones are yielded with `undefined`. Duplicates are read once. */
  readMany(hashes: Iterable<Hash>): AsyncIterable<readonly [Hash, BlobReader | undefined]>;
  /**
   * Yields contents in their storage form and order, for `putBlock` of another store. A block holds only requested
   * contents (one that shares its block with others is packed anew), and is at most `mostBytes` long. Contents that are
   * missing, damaged or too long are left out; one may come twice. Only checksums were checked: the receiver of a block
   * hashes its contents.
   */
  blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock>;
  /** Everything stored, in any order. */
  list(): AsyncIterable<BlobInfo>;
  /** Reads every stored byte from the files themselves and reports the faults. Changes nothing. */
  verify(options?: BlobVerifyOptions): AsyncIterable<BlobProblem>;
  /**
   * Frees every content for which `keep` is false, and the space of packs that hold little else. Takes the collector's
   * lock, so it waits for running batches (and leases) and throws `LOCKED` if they do not end; new ones wait for it.
   * `keep` is called only under the lock. Crash-safe.
   */
  collect(keep: (hash: Hash) => boolean, options?: CollectOptions): Promise<CollectReport>;
  /**
   * Moves damaged files aside (they are kept until the next `collect`), once everything readable in them is stored
   * elsewhere. A file with the only copy of a damaged content that must be kept stays in place. Resolves to the files
   * that were moved. Takes the collector's lock, like `collect`. Crash-safe.
   */
  setAside(wish: SetAsideWish): Promise<readonly string[]>;
  /** Closes files and locks; unfinished batches are abandoned. Idempotent. */
  close(): Promise<void>;
}

/** Writes that become durable and visible together. */
export interface BlobBatch {
  /** Takes a content. It is kept from now on in bounded memory or in the unpublished tail of a pack. */
  put(content: Uint8Array): Promise<Hash>;
  /** Takes a content of any size from its pieces. */
  putStream(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): Promise<{ readonly hash: Hash; readonly size: number }>;
  /**
   * Takes the contents of another store's block in their storage form. Each is hashed: throws `INTEGRITY_VIOLATION`,
   * and keeps nothing of the block, if one differs from what the block states, or if the bytes are not a block.
   * Contents that are stored already may take up space twice. The bytes must not be changed before the batch has ended.
   * `checked`: a `checkBlock` of the block that is already running elsewhere; it rejects if that throws.
   */
  putBlock(block: BlobBlock, checked?: Promise<void>): Promise<void>;
  /** Makes everything durable, then visible. */
  commit(options?: CommitOptions): Promise<void>;
  /** Gives the batch up. Idempotent; after `commit` it does nothing. */
  abandon(): Promise<void>;
}

/** The way in which a batch is made durable. */
export interface CommitOptions {
  /**
   * True to commit beside this thread's other work, for callers that have something else to do. Default: at once, which
   * is slightly faster.
   */
  readonly beside?: boolean;
}

/** Runs work with a batch, and commits it. If the work or the commit fails, the batch is given up. */
export async function withBatch<T>(
  blobs: Pick<BlobStore, "batch">,
  work: (batch: BlobBatch) => Promise<T>,
  options?: CommitOptions,
): Promise<T> {
  const batch = await blobs.batch();
  try {
    const done = await work(batch);
    await batch.commit(options);
    return done;
  } catch (error) {
    await batch.abandon();
    throw error;
  }
}

/** Bytes of a content from `start` to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** One content, to be read in pieces. `size` is known in advance. */
export interface BlobReader {
  readonly size: number;
  /**
   * Yields all of the content, or its part of a range. A range of a large content is read without the bytes before it,
   * so it is checked only as far as its parts have checksums of their own.
   */
  pieces(range?: ByteRange): AsyncIterable<Uint8Array>;
}

/** One stored content. */
export interface BlobInfo {
  readonly hash: Hash;
  /** Bytes of the content. */
  readonly size: number;
  /** Bytes that it takes up in the store (its share of a block). */
  readonly storedBytes: number;
}

export interface BlobVerifyOptions {
  /** Called now and then with the bytes read so far and the total. */
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
  /** Called for each sound content. */
  readonly onBlob?: (hash: Hash) => void;
}

/** A fault in the blob store. `where` names the file and the offset. */
export interface BlobProblem {
  readonly kind: "blob-corrupt" | "pack-damaged" | "index-wrong";
  readonly where: string;
  readonly detail: string;
  /** The affected contents, if known. */
  readonly hashes: readonly Hash[];
  /** The damaged file, for `setAside`; `undefined` if no file is damaged. */
  readonly file?: string;
}

/** The files for `setAside`, and the contents that must not be lost with them. */
export interface SetAsideWish extends Pick<CollectOptions, "whenLocked" | "waitMs"> {
  /** Named as in `BlobProblem.file`. Files that no longer exist are skipped. */
  readonly files: ReadonlySet<string>;
  /** A damaged content for which this is false need not be kept. Called only under the lock. */
  readonly keep: (hash: Hash) => boolean;
}

export interface CollectOptions {
  /**
   * Runs under the collector's lock, before `keep` is first called: the time to read what was written since marking.
   */
  readonly whenLocked?: () => Promise<void>;
  /** Rewrites every pack that holds anything to be freed, so that no byte of it remains. Default: false. */
  readonly thorough?: boolean;
  /** The time to wait for batches and leases, in ms. Default: as for every lock of the store. */
  readonly waitMs?: number;
}

export interface CollectReport {
  /** The number of contents whose space was freed, and the bytes by which the files shrank. */
  readonly freedBlobs: number;
  readonly freedBytes: number;
  /**
   * Contents that were removed, but whose bytes stay in packs that are mostly kept or that another process is using.
   */
  readonly pendingBlobs: number;
  readonly pendingBytes: number;
}
