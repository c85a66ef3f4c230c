import type { Hash } from "../../core/values/hash.ts";
import { type BlobBlock, openBlock } from "../../storage/blob-block.ts";
import { type BlobBatch, type BlobStore, withBatch } from "../../storage/blob-store.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { ahead } from "../../util/ahead.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { addAll } from "../../util/long-lists.ts";
import { MAX_PIECE_BYTES } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import type { BlockFetch, FetchedBlock, FetchedBlocks } from "./block-fetch.ts";
import type { ContentFetch } from "../contents/content-fetch.ts";
import type { EarlyFiles } from "./early-files.ts";

type Manifest = NonNullable<MessageOf<"ContentFetchResponse">["chunk_manifest"]>;

const PARALLEL = 16;

/**
 * The maximum number of `BlocksResponse` answers that are checked at once. With several answers, the worker threads
 * that check them (see `EarlyFiles`) stay busy while this thread makes other answers durable.
 */
const MOST_CHECKING = 8;

/** The contents that need not be fetched. By default, these are the contents of the store. */
export interface HeldContents {
  /**
   * Returns the hashes whose contents are held and not damaged. The contents in `inline` need not be looked up, because
   * they have already arrived and can be stored at once.
   */
  has(hashes: readonly Hash[], inline?: ReadonlyMap<Hash, Uint8Array>): Promise<ReadonlySet<Hash>>;
  /** Must be called when a content that was not held has arrived and is durable. */
  add(hash: Hash): void;
}

interface IntakeParts {
  /** Default: the undamaged contents of the store. */
  readonly held?: HeldContents;
  /** Fetches contents as blocks, if the other side supports this. */
  readonly blocks?: BlockFetch;
  /** Called after each chunk while the chunks of a large content are joined. Joining can take long. Must not throw. */
  readonly onJoining?: () => void;
  readonly early?: EarlyFiles | undefined;
  /** Called with the progress of a content that is fetched in pieces. Must not throw. */
  readonly onBytes?: OnBytes | undefined;
}

type OnBytes = (done: number, total: number) => void;

interface Checking {
  readonly answer: FetchedBlocks;
  readonly checks: ReadonlyMap<FetchedBlock, Promise<void>>;
}

interface WantedContents {
  readonly hashes: readonly Hash[];
  /** The contents that arrived together with their events or entries. */
  readonly inline?: ReadonlyMap<Hash, Uint8Array>;
  /** The expected sizes. A fetched content of another size is refused. */
  readonly sizes?: ReadonlyMap<Hash, number>;
  /** Called with the number of contents that are held or were fetched so far. Must not throw. */
  readonly onTaken?: (contents: number) => void;
}

/**
 * Fetches the contents that events or entries name, compares them with their hashes, and stores them durably. Many
 * contents are fetched at once as blocks, if the other side supports this. A content that is longer than one piece is
 * fetched in chunks. Each chunk is stored under its own hash, so that only the missing chunks are fetched after an
 * interruption. The store's garbage collector frees the chunks later, because no record names them.
 */
export class ContentIntake {
  readonly #blobs: BlobStore;
  readonly #fetch: ContentFetch;
  readonly #held: HeldContents;
  readonly #blocks: BlockFetch | undefined;
  readonly #onJoining: (() => void) | undefined;
  readonly #early: EarlyFiles | undefined;
  readonly #onBytes: OnBytes | undefined;

  constructor(blobs: BlobStore, fetch: ContentFetch, { held, blocks, onJoining, early, onBytes }: IntakeParts = {}) {
    this.#onJoining = onJoining;
    this.#onBytes = onBytes;
    this.#blobs = blobs;
    this.#fetch = fetch;
    this.#held = held ?? { has: (hashes) => blobs.sound(hashes), add: () => undefined };
    this.#blocks = blocks;
    this.#early = early;
  }

  /**
   * Fetches and stores all contents that are not held. Once they are durable, resolves to the hashes of the contents
   * that the other side does not have, because they were pruned or are withheld. The caller must hold a lease of the
   * store until the events that name the contents are durable, too. Rejects with `INTEGRITY_VIOLATION` for a content
   * that does not match its hash or stated size.
   */
  async ensure({ hashes, inline = new Map(), sizes, onTaken }: WantedContents): Promise<Hash[]> {
    const held = await this.#held.has(hashes, inline);
    const missing = [...new Set(hashes)].filter((hash) => !held.has(hash));
    if (missing.length === 0) return [];
    let taken = held.size;
    const count = (more: number): void => onTaken?.((taken += more));
    const gone: Hash[] = [];
    const large: (readonly [Hash, Manifest])[] = [];
    await using batch = new GrowingBatch(this.#blobs);
    for (const hash of missing) {
      const bytes = inline.get(hash);
      if (bytes !== undefined) mustBe(hash, await batch.put(bytes));
    }
    const asked = missing.filter((hash) => !inline.has(hash));
    const { absent, apart } = await this.#takeBlocks(asked, batch, { sizes, count });
    for (const hash of absent) gone.push(hash);
    for await (const [hash, response] of ahead(apart, PARALLEL, (hash) => this.#get(hash))) {
      if (response !== undefined) mustHaveSize(hash, response.size, sizes);
      if (response === undefined) gone.push(hash);
      else if (response.chunk_manifest !== undefined) large.push([hash, response.chunk_manifest]);
      else mustBe(hash, await batch.put(response.content));
      count(1);
    }
    await batch.commit();
    for (const [hash, manifest] of large) if (!(await this.#takeLarge(hash, manifest))) gone.push(hash);
    const isGone = new Set(gone);
    for (const hash of missing) if (!isGone.has(hash)) this.#held.add(hash);
    return gone;
  }

  /**
   * Fetches contents as blocks and puts them into the batch. Returns the contents that the origin does not have
   * (`absent`), and those that must be requested one by one (`apart`).
   */
  async #takeBlocks(
    asked: readonly Hash[],
    batch: GrowingBatch,
    { sizes, count }: { readonly sizes: WantedContents["sizes"]; readonly count: (more: number) => void },
  ): Promise<{ readonly absent: readonly Hash[]; readonly apart: readonly Hash[] }> {
    const absent: Hash[] = [];
    if (this.#blocks?.isKnown !== true) return { absent, apart: asked };
    const apart: Hash[] = [];
    // Further answers are fetched while worker threads check the blocks of earlier answers.
    const most = this.#early === undefined ? 1 : MOST_CHECKING;
    for await (const { answer, checks } of ahead(this.#blocks.get(asked), most, async (one) => this.#check(one))) {
      for (const one of answer.blocks) {
        for (const { hash, length } of one.block.entries) mustHaveSize(hash, length, sizes);
        await takeBlock(batch, one, checks.get(one));
        count(one.fresh.size);
      }
      addAll(absent, answer.absent);
      addAll(apart, answer.apart);
    }
    return { absent, apart };
  }

  #check(answer: FetchedBlocks): Checking {
    const whole = answer.blocks.filter(isTakenWhole);
    const checks = this.#early?.check(whole.map(({ block }) => block)) ?? [];
    return { answer, checks: new Map(checks.map((check, i) => [whole[i] as FetchedBlock, check])) };
  }

  async #get(hash: Hash): Promise<readonly [Hash, MessageOf<"ContentFetchResponse"> | undefined]> {
    return [hash, await this.#fetch.get(hash)];
  }

  /** Fetches and stores a large content in chunks. Returns false if the other side no longer has the content. */
  async #takeLarge(hash: Hash, { chunks, total_size: total }: Manifest): Promise<boolean> {
    const held = await this.#held.has(chunks.map((chunk) => chunk.hash));
    for (const chunk of chunks) {
      if (held.has(chunk.hash)) continue;
      const pieces = this.#counted(this.#pieces(hash, chunk), { from: chunk.offset, total });
      try {
        await withBatch(this.#blobs, async (batch) => mustBe(chunk.hash, (await batch.putStream(pieces)).hash));
        this.#held.add(chunk.hash);
      } catch (error) {
        if (error instanceof ChronicleError && error.code === "BLOB_MISSING") return false;
        throw error;
      }
    }
    const whole = this.#joined(chunks.map((chunk) => chunk.hash));
    await withBatch(this.#blobs, async (batch) => mustBe(hash, (await batch.putStream(whole)).hash));
    return true;
  }

  /** Reports the progress of a chunk. All bytes before `from` have arrived, because chunks are fetched in order. */
  async *#counted(
    pieces: AsyncIterable<Uint8Array>,
    { from, total }: { readonly from: number; readonly total: number },
  ): AsyncGenerator<Uint8Array, void> {
    let done = from;
    for await (const piece of pieces) {
      this.#onBytes?.((done += piece.length), total);
      yield piece;
    }
  }

  async *#pieces(hash: Hash, chunk: Manifest["chunks"][number]): AsyncGenerator<Uint8Array, void> {
    const end = chunk.offset + chunk.size;
    const ranges: { offset: number; length: number }[] = [];
    for (let offset = chunk.offset; offset < end; offset += MAX_PIECE_BYTES) {
      ranges.push({ offset, length: Math.min(MAX_PIECE_BYTES, end - offset) });
    }
    const fetch = async (range: (typeof ranges)[number]) => ({ range, response: await this.#fetch.get(hash, range) });
    for await (const { range, response } of ahead(ranges, PARALLEL, fetch)) {
      if (response === undefined) throw missing(hash, "the other side no longer has it");
      if (response.content.length !== range.length)
        violated(`a piece of ${hash} does not have the length that was asked for`);
      yield response.content;
    }
  }

  async *#joined(chunks: readonly Hash[]): AsyncGenerator<Uint8Array, void> {
    for (const chunk of chunks) {
      const reader = await this.#blobs.open(chunk);
      if (reader === undefined) throw new ChronicleError("UNAVAILABLE", `the chunk ${chunk} was freed meanwhile`);
      yield* reader.pieces();
      this.#onJoining?.();
      // The rest of this loop may run without a pause. Without this yield, no session of this process could send
      // heartbeats meanwhile.
      await yieldToEventLoop();
    }
  }
}

/**
 * Stores a block as a whole, or only its new contents if these are less than half of the block's uncompressed bytes.
 */
async function takeBlock(batch: GrowingBatch, one: FetchedBlock, checked: Promise<void> | undefined): Promise<void> {
  if (isTakenWhole(one)) return batch.putBlock(one.block, checked);
  const raw = openBlock(one.block);
  for (const { at, length } of freshEntries(one)) await batch.put(raw.subarray(at, at + length));
}

function isTakenWhole(one: FetchedBlock): boolean {
  const newBytes = freshEntries(one).reduce((sum, { length }) => sum + length, 0);
  return newBytes * 2 >= one.block.rawLength;
}

function freshEntries({ block, fresh }: FetchedBlock): BlobBlock["entries"] {
  return block.entries.filter(({ hash }) => fresh.has(hash));
}

function mustBe(wanted: Hash, found: Hash): void {
  if (found !== wanted) violated(`the content that was sent for ${wanted} hashes to ${found}`);
}

function mustHaveSize(hash: Hash, size: number, sizes: ReadonlyMap<Hash, number> | undefined): void {
  const said = sizes?.get(hash) ?? size;
  if (said !== size) violated(`the content ${hash} is said to have ${said} bytes, and has ${size}`);
}

function violated(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}

function missing(hash: Hash, reason: string): ChronicleError {
  return new ChronicleError("BLOB_MISSING", `the content ${hash} cannot be fetched: ${reason}`, { data: { hash } });
}

/** The number of bytes after which a batch is committed. After a crash, committed bytes need not be fetched again. */
const PORTION_BYTES = 16 * 1024 * 1024;

/**
 * A batch of any length. A portion is committed in the background while the next portion is received. Disposal drops
 * the contents that were not committed.
 */
class GrowingBatch implements AsyncDisposable {
  readonly #blobs: BlobStore;
  readonly #portionBytes: number;
  #batch: BlobBatch | undefined;
  #bytes = 0;
  /** The last commit, whether running or done. */
  #committing: Promise<void> = Promise.resolve();

  constructor(blobs: BlobStore, portionBytes = PORTION_BYTES) {
    this.#blobs = blobs;
    this.#portionBytes = portionBytes;
  }

  async put(content: Uint8Array): Promise<Hash> {
    const batch = await this.#open();
    this.#bytes += content.length;
    return batch.put(content);
  }

  async putBlock(block: BlobBlock, checked?: Promise<void>): Promise<void> {
    const batch = await this.#open();
    this.#bytes += block.bytes.length;
    await batch.putBlock(block, checked);
  }

  /** Commits the contents so far. Further contents can follow. */
  async commit(): Promise<void> {
    await this.#beginCommit();
    await this.#committing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#batch?.abandon();
    await this.#committing.catch(() => undefined);
  }

  /**
   * Starts a commit once the previous commit has ended. Memory therefore stays bounded if the disk is slower than the
   * network.
   */
  async #beginCommit(): Promise<void> {
    const batch = this.#batch;
    this.#batch = undefined;
    this.#bytes = 0;
    try {
      await this.#committing;
    } catch (error) {
      await batch?.abandon();
      throw error;
    }
    if (batch === undefined) return;
    this.#committing = batch.commit({ beside: true });
    // The next call of `#beginCommit` or `commit` reports the error.
    this.#committing.catch(() => undefined);
  }

  async #open(): Promise<BlobBatch> {
    if (this.#bytes >= this.#portionBytes) await this.#beginCommit();
    return (this.#batch ??= await this.#blobs.batch());
  }
}
