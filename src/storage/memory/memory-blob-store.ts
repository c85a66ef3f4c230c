import { ChronicleError } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import type {
  BlobBatch,
  BlobInfo,
  BlobProblem,
  BlobReader,
  BlobStore,
  BlobVerifyOptions,
  ByteRange,
  CollectOptions,
  CollectReport,
} from "../blob-store.ts";
import { openBlock, type BlobBlock } from "../blob-block.ts";
import { LARGE_BYTES } from "../block.ts";
import { packBlocks } from "../pack-blocks.ts";
import { GcLease } from "../gc-lease.ts";
import type { HeldLock, Lock } from "../lock.ts";
import { MemoryLock } from "./memory-lock.ts";

const PIECE_BYTES = 1024 * 1024;
const LOCK_WAIT_MS = 10_000;

/**
 * The parts of a memory blob store. Two objects that share these parts act like one store that two processes have open.
 */
export interface MemoryBlobStoreOptions {
  readonly contents?: Map<Hash, Buffer>;
  readonly lock?: Lock;
  /**
   * The time, in ms, that writers wait for the collector, and that the collector waits for writers. Default: 10,000.
   */
  readonly lockWaitMs?: number;
}

/** A blob store in memory. Nothing outlives the process. */
export class MemoryBlobStore implements BlobStore {
  readonly #contents: Map<Hash, Buffer>;
  readonly #lease: GcLease;
  readonly #batches = new Set<MemoryBatch>();
  #closed = false;

  constructor(options: MemoryBlobStoreOptions = {}) {
    this.#contents = options.contents ?? new Map();
    this.#lease = new GcLease(options.lock ?? new MemoryLock(), options.lockWaitMs ?? LOCK_WAIT_MS);
  }

  async has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return new Set(hashes.filter((hash) => this.#contents.has(hash)));
  }

  async sound(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return new Set(hashes.filter((hash) => isSound(this.#contents, hash)));
  }

  /** Does nothing, because every put checks the stored bytes anyway. */
  doubt(): void {}

  lease(): Promise<HeldLock> {
    this.#mustBeOpen();
    return this.#lease.take();
  }

  async batch(): Promise<BlobBatch> {
    const lease = await this.lease();
    const batch = new MemoryBatch(this.#contents, () => {
      lease.release();
      this.#batches.delete(batch);
    });
    this.#batches.add(batch);
    return batch;
  }

  async get(hash: Hash): Promise<Buffer | undefined> {
    const content = this.#contents.get(hash);
    if (content === undefined) return undefined;
    if (sha256(content) !== hash) throw damaged(hash);
    return Buffer.from(content);
  }

  async open(hash: Hash): Promise<BlobReader | undefined> {
    const content = this.#contents.get(hash);
    return content === undefined
      ? undefined
      : { size: content.length, pieces: (range) => piecesOf(hash, content, range) };
  }

  async *readMany(hashes: Iterable<Hash>): AsyncIterable<readonly [Hash, BlobReader | undefined]> {
    for (const hash of new Set(hashes)) yield [hash, await this.open(hash)];
  }

  async *blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock> {
    const fitting = [...new Set(hashes)].flatMap((hash) => {
      const content = this.#contents.get(hash);
      return content === undefined || content.length > LARGE_BYTES || sha256(content) !== hash ? [] : [content];
    });
    for (const block of packBlocks(fitting)) if (block.bytes.length <= mostBytes) yield block;
  }

  async *list(): AsyncIterable<BlobInfo> {
    for (const [hash, { length }] of this.#contents) yield { hash, size: length, storedBytes: length };
  }

  async infos(hashes: Iterable<Hash>): Promise<readonly BlobInfo[]> {
    return [...new Set(hashes)].flatMap((hash) => {
      const size = this.#contents.get(hash)?.length;
      return size === undefined ? [] : [{ hash, size, storedBytes: size }];
    });
  }

  async *verify(options: BlobVerifyOptions = {}): AsyncIterable<BlobProblem> {
    using _lease = await this.lease();
    const total = this.#contents.values().reduce((sum, { length }) => sum + length, 0);
    let done = 0;
    for (const [hash, content] of this.#contents) {
      done += content.length;
      if (sha256(content) === hash) options.onBlob?.(hash);
      else yield { kind: "blob-corrupt", where: "memory", detail: "the bytes have another hash", hashes: [hash] };
      options.onProgress?.(done, total);
    }
  }

  async collect(keep: (hash: Hash) => boolean, options: CollectOptions = {}): Promise<CollectReport> {
    this.#mustBeOpen();
    using _turn = await this.#lease.exclusive(options.waitMs);
    await options.whenLocked?.();
    let freedBlobs = 0;
    let freedBytes = 0;
    for (const [hash, { length }] of this.#contents) {
      if (keep(hash)) continue;
      this.#contents.delete(hash);
      freedBlobs++;
      freedBytes += length;
    }
    return { freedBlobs, freedBytes, pendingBlobs: 0, pendingBytes: 0 };
  }

  /** Moves nothing, because a store in memory has no files. */
  async setAside(): Promise<readonly string[]> {
    return [];
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#batches].map((batch) => batch.abandon()));
    this.#lease.close();
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new ChronicleError("IO", "the blob store has been closed");
  }
}

class MemoryBatch implements BlobBatch {
  readonly #contents: Map<Hash, Buffer>;
  readonly #ended: () => void;
  readonly #pending = new Map<Hash, Buffer>();
  #open = true;

  constructor(contents: Map<Hash, Buffer>, ended: () => void) {
    this.#contents = contents;
    this.#ended = ended;
  }

  async put(content: Uint8Array): Promise<Hash> {
    this.#mustBeOpen();
    const hash = sha256(content);
    if (!isSound(this.#contents, hash)) this.#pending.set(hash, Buffer.from(content));
    return hash;
  }

  async putStream(
    pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  ): Promise<{ readonly hash: Hash; readonly size: number }> {
    this.#mustBeOpen();
    const held: Buffer[] = [];
    for await (const piece of pieces) held.push(Buffer.from(piece));
    const content = Buffer.concat(held);
    return { hash: await this.put(content), size: content.length };
  }

  async putBlock(block: BlobBlock, checked?: Promise<void>): Promise<void> {
    this.#mustBeOpen();
    await checked;
    const raw = openBlock(block);
    for (const { at, length } of block.entries) await this.put(raw.subarray(at, at + length));
  }

  async commit(): Promise<void> {
    this.#mustBeOpen();
    for (const [hash, content] of this.#pending) this.#contents.set(hash, content);
    this.#end();
  }

  async abandon(): Promise<void> {
    if (this.#open) this.#end();
  }

  #end(): void {
    this.#open = false;
    this.#pending.clear();
    this.#ended();
  }

  #mustBeOpen(): void {
    if (!this.#open) throw new Error("this batch has been committed or abandoned");
  }
}

async function* piecesOf(hash: Hash, content: Buffer, range?: ByteRange): AsyncIterable<Uint8Array> {
  if (sha256(content) !== hash) throw damaged(hash);
  const wanted = content.subarray(range?.start, range?.end);
  for (let at = 0; at < wanted.length; at += PIECE_BYTES) yield Buffer.from(wanted.subarray(at, at + PIECE_BYTES));
}

function isSound(contents: ReadonlyMap<Hash, Buffer>, hash: Hash): boolean {
  const content = contents.get(hash);
  return content !== undefined && sha256(content) === hash;
}

function damaged(hash: Hash): ChronicleError {
  return new ChronicleError("BLOB_CORRUPT", `content ${hash} is damaged in memory`, { data: { hash } });
}
