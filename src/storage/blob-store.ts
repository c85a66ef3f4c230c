import type { Hash } from "../core/values/hash.ts";
import type { BlobBlock } from "./blob-block.ts";
import type { HeldLock } from "./lock.ts";

/**
 * Immutable bytes, named by their SHA-256, kept once.
 *
 * Backends: `MemoryBlobStore`, `FileBlobStore` (packs).
 *
 * Contract
 * - Durable before visible: `has`, `get` and `list` know a content only once the `commit` of the batch that put it has
 *   resolved (or an earlier batch's). A batch that is abandoned or crashes leaves nothing that anyone can see.
 * - Putting a content that is already stored costs no space and succeeds. What is stored is read before that, once in a
 *   process; where it is damaged, the good bytes take its place.
 * - Every read is checked: bytes that do not hash to their name throw `BLOB_CORRUPT`; they are never returned as good.
 *   A stream is checked at its end: a consumer must not act on its bytes before it has ended without an error.
 * - Absence is `undefined`. Concurrent batches, also of other processes, are safe.
 * - After a failed sync the store is poisoned: every write throws `POISONED` until the disk takes a write and a sync of another
 *   file, and the batches that failed with it have ended. Nothing of what was not synced is stored then. A sync is never retried.
 */
export interface BlobStore {
  /** Those of the hashes that are stored durably. */
  has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /**
   * Those of the hashes whose content need not be stored again: as `has`, without those that are damaged. What is stored is read
   * for that, once in a process.
   */
  sound(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  /**
   * Keeps the collector out while it is held: from the first `has` on whose answer an event will rest until that event
   * is durable. Batches hold one of their own. Many may be held at once.
   */
  lease(): Promise<HeldLock>;
  /** From now on a content that is put again counts as stored only after its stored bytes were read again. */
  doubt(): void;
  /** Begins a batch of writes. Finish it with `commit` or `abandon`. */
  batch(): Promise<BlobBatch>;
  /** The content, or `undefined`. For contents that fit in memory. */
  get(hash: Hash): Promise<Buffer | undefined>;
  /** A content of any size, piece by piece (at most 1 MiB each), or `undefined`. */
  open(hash: Hash): Promise<BlobReader | undefined>;
  /** Reads many, in the order in which they are stored; those that are missing are yielded with `undefined`. Duplicates are read once. */
  readMany(hashes: Iterable<Hash>): AsyncIterable<readonly [Hash, BlobReader | undefined]>;
  /**
   * Contents as they are stored, in the order in which they are: for `putBlock` of another store. A block holds nothing but
   * what is asked for (what shares one with other contents is packed anew), and is at most `mostBytes` long. Contents that
   * are missing, damaged, or do not fit are left out; one may come twice. Only check sums were looked at: who takes a block
   * hashes its contents.
   */
  blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock>;
  /** Everything stored, in any order. */
  list(): AsyncIterable<BlobInfo>;
  /** Reads every stored byte from the files themselves and reports what is wrong; changes nothing. */
  verify(options?: BlobVerifyOptions): AsyncIterable<BlobProblem>;
  /**
   * Frees every content for which `keep` is false, and the space of packs that hold little else. Takes the collector's
   * lock, so it waits for running batches (and leases) and throws `LOCKED` when they do not end; new ones wait for it.
   * `keep` is asked only under the lock. Crash-safe.
   */
  collect(keep: (hash: Hash) => boolean, options?: CollectOptions): Promise<CollectReport>;
  /**
   * Puts damaged files aside (they are kept until the next `collect`), once everything that can be read in them is stored
   * elsewhere. A file that holds the only copy of a damaged content that is to be kept stays in its place. Resolves to those
   * that were put aside. Takes the collector's lock, as `collect`. Crash-safe.
   */
  setAside(wish: SetAsideWish): Promise<readonly string[]>;
  /** Closes files and locks; unfinished batches are abandoned. Idempotent. */
  close(): Promise<void>;
}

/** Writes that become durable and visible together. */
export interface BlobBatch {
  /** Takes a content; it is kept from now on in bounded memory or in the unpublished tail of a pack. */
  put(content: Uint8Array): Promise<Hash>;
  /** Takes a content of any size from its pieces. */
  putStream(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): Promise<{ readonly hash: Hash; readonly size: number }>;
  /**
   * Takes the contents of a block that another store has given, as they are stored there. Each is hashed: throws
   * `INTEGRITY_VIOLATION`, with nothing of the block kept, where one is not what the block says, or the block is none. Those
   * that are stored already may take up space twice. The bytes must not be changed before the batch has ended.
   * `checked`: the same look (`checkBlock`), under way elsewhere; it rejects where that would throw.
   */
  putBlock(block: BlobBlock, checked?: Promise<void>): Promise<void>;
  /** Makes all of it durable, then visible. */
  commit(options?: CommitOptions): Promise<void>;
  /** Gives the batch up. Idempotent; after `commit` it does nothing. */
  abandon(): Promise<void>;
}

/** How a batch is made durable. */
export interface CommitOptions {
  /** Beside what else this thread does: for who has something to do meanwhile. Default: at once, which is a little faster. */
  readonly beside?: boolean;
}

/** Bytes of a content from `start` to `end` (exclusive). */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** One content, to be read in pieces. `size` is known before. */
export interface BlobReader {
  readonly size: number;
  /**
   * All of it, or what it has of a range. A range of a large content is read without what lies before it, so it is
   * checked only as far as parts of it have check sums of their own.
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
  /** Called now and then with bytes read so far and in all. */
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
  /** Called for each content found whole. */
  readonly onBlob?: (hash: Hash) => void;
}

/** Something wrong in the blob store. `where` names the file and the offset. */
export interface BlobProblem {
  readonly kind: "blob-corrupt" | "pack-damaged" | "index-wrong";
  readonly where: string;
  readonly detail: string;
  /** The contents that are hurt, where they are known. */
  readonly hashes: readonly Hash[];
  /** The file that is damaged, for `setAside`; not there where no file is. */
  readonly file?: string;
}

/** Which files `setAside` is about, and what must not be lost with them. */
export interface SetAsideWish extends Pick<CollectOptions, "whenLocked" | "waitMs"> {
  /** As `BlobProblem.file` names them. Those that are not there any more are passed over. */
  readonly files: ReadonlySet<string>;
  /** A damaged content for which this is false need not be kept. Asked only under the lock. */
  readonly keep: (hash: Hash) => boolean;
}

export interface CollectOptions {
  /** Runs under the collector's lock, before `keep` is first asked: the time to read what was written since marking. */
  readonly whenLocked?: () => Promise<void>;
  /** Rewrites every pack that holds anything to be freed, so that no byte of it remains. Default: false. */
  readonly thorough?: boolean;
  /** How long to wait for batches and leases, in ms. Default: as for every lock of the store. */
  readonly waitMs?: number;
}

export interface CollectReport {
  /** Contents whose space was freed, and bytes that the files now take less. */
  readonly freedBlobs: number;
  readonly freedBytes: number;
  /** Contents that are gone, but whose bytes stay in packs of which most is kept, or that somebody else has in use. */
  readonly pendingBlobs: number;
  readonly pendingBytes: number;
}
