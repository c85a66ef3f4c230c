import type { Hash } from "../core/values/hash.ts";
import type { BlobBlock } from "./blob-block.ts";
import type { HeldLock } from "./lock.ts";

/**
 * A store of contents: immutable bytes, each named by its SHA-256 and stored once.
 *
 * Backends: `MemoryBlobStore`, `FileBlobStore` (packs).
 *
 * Contract
 * - Contents are durable before they are visible. `has`, `get` and `list` know a content only after the `commit` of its
 *   batch has resolved. A batch that is abandoned, or ends in a crash, leaves nothing visible.
 * - Putting a content that is already stored takes no space (except with `putBlock`). The put first checks the stored
 *   bytes, once per process. If the stored bytes are damaged, the bytes of the put replace them.
 * - A read of a whole content throws `BLOB_CORRUPT` if the bytes do not have the content's hash. A stream is checked at
 *   its end. Until the stream has ended without an error, a consumer must not act on its bytes. For ranges, see
 *   `pieces`.
 * - Reads return `undefined` for a missing content. Batches may run at the same time, also in several processes.
 * - After a failed sync the store is poisoned. Every write throws `POISONED` until two conditions hold: the disk takes
 *   a write and a sync of another file, and the failed batches have ended. The contents of the failed batches are not
 *   stored. A sync is never retried.
 */
export interface BlobStore {
  /** Returns the hashes whose contents are stored durably. */
  has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /** Returns the hashes whose contents are stored durably and not damaged. Reads the stored bytes, once per process. */
  sound(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /**
   * Takes a lease, which keeps the collector from freeing anything. If a caller records an event because `has` returned
   * the event's contents, the caller takes the lease before it calls `has`. The caller holds the lease until the event
   * is durable. Many leases may be held at once. Each batch holds one lease.
   */
  lease(): Promise<HeldLock>;
  /**
   * Forgets which contents were found sound. The stored bytes of a content are then read once more before `sound` or a
   * put relies on them.
   */
  doubt(): void;
  /** Begins a batch of writes, which the caller ends with `commit` or `abandon`. */
  batch(): Promise<BlobBatch>;
  /** Returns a content that fits in memory; `undefined` if the content is missing. */
  get(hash: Hash): Promise<Buffer | undefined>;
  /**
   * Opens a content of any size, to be read in pieces of at most 1 MiB. Resolves to `undefined` if the content is
   * missing.
   */
  open(hash: Hash): Promise<BlobReader | undefined>;
  /**
   * Yields a reader for each of many contents, in storage order; `undefined` for a missing content. A hash that is
   * given twice yields one reader.
   */
  readMany(hashes: Iterable<Hash>): AsyncIterable<readonly [Hash, BlobReader | undefined]>;
  /**
   * Yields contents as blocks, in storage order, for `putBlock` of another store. Each block is at most `mostBytes`
   * long and has only requested contents. If a stored block also has other contents, its requested contents are packed
   * into a new block. Contents that are missing, too long or found damaged are left out. A content may be yielded
   * twice. Only the checksums of stored blocks and containers are checked, so the receiver must check the hashes.
   */
  blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock>;
  /** Yields all stored contents, in any order. */
  list(): AsyncIterable<BlobInfo>;
  /** Returns the infos of these contents, as `list` yields them. Leaves out missing contents. */
  infos(hashes: Iterable<Hash>): Promise<readonly BlobInfo[]>;
  /** Reads every stored byte from the files, and yields the faults. Changes nothing. */
  verify(options?: BlobVerifyOptions): AsyncIterable<BlobProblem>;
  /**
   * Removes every content for which `keep` is false. If too small a share of a pack's bytes is kept, rewrites the pack
   * to free its space. Takes the collector's lock: waits for batches and leases, and throws `LOCKED` if they do not end
   * in time. New batches and leases wait for the lock. `keep` is called only under the lock. A crash at any time does
   * no harm.
   */
  collect(keep: (hash: Hash) => boolean, options?: CollectOptions): Promise<CollectReport>;
  /**
   * Stores anew the readable contents of the damaged files that `wish` names. Moves these files into quarantine, where
   * they stay until the next `collect`. Resolves to the moved files. A file stays in place if it has the only copy of a
   * damaged content that must be kept. Takes the collector's lock as `collect` does. A crash at any time does no harm.
   */
  setAside(wish: SetAsideWish): Promise<readonly string[]>;
  /** Abandons unfinished batches, and closes files and locks. Idempotent. */
  close(): Promise<void>;
}

export interface BlobBatch {
  /** Takes a content. Keeps it in bounded memory, or writes it to the unpublished tail of a pack. */
  put(content: Uint8Array): Promise<Hash>;
  /** Takes a content of any size from its pieces. */
  putStream(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): Promise<{ readonly hash: Hash; readonly size: number }>;
  /**
   * Checks a block of another store (`checkBlock`), and takes it unchanged. If the check fails, throws
   * `INTEGRITY_VIOLATION` and takes nothing of the block. Contents that are already stored can take up space twice. The
   * caller must not change the bytes before the batch has ended. `checked`: resolves when another thread has checked
   * the block; rejects if its check failed.
   */
  putBlock(block: BlobBlock, checked?: Promise<void>): Promise<void>;
  /** Makes the contents of the batch durable, then visible. */
  commit(options?: CommitOptions): Promise<void>;
  /** Drops the contents of the batch. Idempotent; does nothing after `commit`. */
  abandon(): Promise<void>;
}

export interface CommitOptions {
  /**
   * True to sync in the background, for callers that have other work to do meanwhile. Default: the sync blocks this
   * thread, which is slightly faster.
   */
  readonly beside?: boolean;
}

/** Runs `work` with a new batch, then commits the batch. If `work` or the commit fails, abandons the batch. */
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

/** A range of bytes. `end` is exclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface BlobReader {
  /** The length of the content, in bytes. */
  readonly size: number;
  /**
   * Yields the content, or a range of it. If damage is found, throws `BLOB_CORRUPT` before all bytes are yielded. A
   * whole content, and a range of a content in a pack, are checked by the content's hash. A range of a large content is
   * read without the rest, so the hash is not checked. In a compressed file, the checksums of the pieces are checked
   * instead. An uncompressed file has no checksums. To check the hash nevertheless, call `prove` before reading the
   * range.
   */
  pieces(range?: ByteRange): AsyncIterable<Uint8Array>;
  /**
   * Reads the whole content and compares its hash, unless this process has done so and the file has not changed since.
   * Throws `BLOB_CORRUPT` if the content is damaged. This method is absent if every read is checked. A reader of
   * `readMany` may lack `prove` in other cases, too.
   */
  prove?(): Promise<void>;
}

export interface BlobInfo {
  readonly hash: Hash;
  /** The length of the content, in bytes. */
  readonly size: number;
  /** The content's share of a block, or the size of its file, in bytes. */
  readonly storedBytes: number;
}

export interface BlobVerifyOptions {
  /** Called from time to time during the verification. */
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
  /** Called for each content that is not damaged. */
  readonly onBlob?: (hash: Hash) => void;
}

export interface BlobProblem {
  readonly kind: "blob-corrupt" | "pack-damaged" | "index-wrong";
  /** The damaged file and the offset of the damage, as a text for people. */
  readonly where: string;
  readonly detail: string;
  /** The affected contents, if known. */
  readonly hashes: readonly Hash[];
  /**
   * The damaged file, for `setAside`: the ULID of a pack, or the path of a large file. `undefined` if no file can be
   * moved.
   */
  readonly file?: string;
}

/** The files to move, and the contents that must not be lost with them. */
export interface SetAsideWish extends Pick<CollectOptions, "whenLocked" | "waitMs"> {
  /** The files, as `BlobProblem.file` names them. Missing files are skipped. */
  readonly files: ReadonlySet<string>;
  /** Returns true for a content whose bytes must be kept even if they are damaged. Called only under the lock. */
  readonly keep: (hash: Hash) => boolean;
}

export interface CollectOptions {
  /**
   * Called under the collector's lock, before the first call of `keep`. Before the lock was taken, the caller has
   * marked the contents that must be kept. In this call, the caller also marks the contents that newer events name.
   */
  readonly whenLocked?: () => Promise<void>;
  /**
   * True to rewrite each pack that has anything but kept contents, so that no byte of other contents remains. Default:
   * false.
   */
  readonly thorough?: boolean;
  /** The time to wait for batches and leases, in ms. Default: the `lockWaitMs` of the store. */
  readonly waitMs?: number;
}

export interface CollectReport {
  /** The number of contents whose space was freed. */
  readonly freedBlobs: number;
  /** The bytes by which the files shrank. */
  readonly freedBytes: number;
  /**
   * The number of removed contents whose bytes remain in a pack that was not rewritten. A pack is not rewritten if
   * another process may append to it, or if a kept content in it is damaged. Without `thorough`, a pack is also not
   * rewritten if most of its bytes are kept.
   */
  readonly pendingBlobs: number;
  /** The space that the contents of `pendingBlobs` take up, in bytes. */
  readonly pendingBytes: number;
}
