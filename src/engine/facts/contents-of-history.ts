import type { Hash } from "../../core/values/hash.ts";
import type { BlobBatch, BlobReader, BlobStore, CollectOptions, SetAsideWish } from "../../storage/blob-store.ts";
import type { HistoryContext } from "../log/context.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import { readEvents } from "../log/read-events.ts";
import { memoKey } from "../log/memo.ts";

/**
 * A view of the store's contents, as one history sees them. A content that this history has erased counts as absent,
 * even while the store still keeps its bytes. If the content is stored or recorded again after the erasure, it counts
 * as present.
 */
export class ContentsOfHistory implements BlobStore {
  readonly #history: HistoryContext;
  readonly #blobs: BlobStore;
  /**
   * Maps a content to the seq that the head had when the content was last stored through this object. A content that is
   * stored again after its erasure can thus be read before an event names the content. Filled only if the history has
   * erasures.
   */
  readonly #put = new Map<Hash, number>();

  /** `history.blobs` must be the blob store itself, not such a view. */
  constructor(history: HistoryContext) {
    this.#history = history;
    this.#blobs = history.blobs;
  }

  async has(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return this.#blobs.has(await this.#without(hashes));
  }

  async sound(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return this.#blobs.sound(await this.#without(hashes));
  }

  lease(): ReturnType<BlobStore["lease"]> {
    return this.#blobs.lease();
  }

  doubt(): void {
    this.#blobs.doubt();
  }

  async batch(): Promise<BlobBatch> {
    const batch = await this.#blobs.batch();
    if ((await erasuresInForce(this.#history)).size === 0) return batch;
    return new NotingBatch(batch, async (hashes) => {
      const { seq } = await this.#history.index.head();
      for (const hash of hashes) this.#put.set(hash, seq);
    });
  }

  async get(hash: Hash): Promise<Buffer | undefined> {
    return (await this.#isErased(hash)) ? undefined : this.#blobs.get(hash);
  }

  async open(hash: Hash): Promise<BlobReader | undefined> {
    return (await this.#isErased(hash)) ? undefined : this.#blobs.open(hash);
  }

  /** Does not leave out erased contents. The callers have left them out already. */
  readMany(hashes: Iterable<Hash>): ReturnType<BlobStore["readMany"]> {
    return this.#blobs.readMany(hashes);
  }

  async *blocks(hashes: readonly Hash[], mostBytes: number): ReturnType<BlobStore["blocks"]> {
    yield* this.#blobs.blocks(await this.#without(hashes), mostBytes);
  }

  list(): ReturnType<BlobStore["list"]> {
    return this.#blobs.list();
  }

  async infos(hashes: Iterable<Hash>): ReturnType<BlobStore["infos"]> {
    return this.#blobs.infos(await this.#without([...hashes]));
  }

  verify(options?: Parameters<BlobStore["verify"]>[0]): ReturnType<BlobStore["verify"]> {
    return this.#blobs.verify(options);
  }

  collect(keep: (hash: Hash) => boolean, options?: CollectOptions): ReturnType<BlobStore["collect"]> {
    return this.#blobs.collect(keep, options);
  }

  setAside(wish: SetAsideWish): Promise<readonly string[]> {
    return this.#blobs.setAside(wish);
  }

  close(): Promise<void> {
    return this.#blobs.close();
  }

  async #without(hashes: readonly Hash[]): Promise<readonly Hash[]> {
    const erasures = await erasuresInForce(this.#history);
    if (erasures.size === 0) return hashes;
    const left: Hash[] = [];
    for (const hash of hashes) if (erasures.of(hash) === undefined || !(await this.#isErased(hash))) left.push(hash);
    return left;
  }

  async #isErased(hash: Hash): Promise<boolean> {
    const erasure = (await erasuresInForce(this.#history)).of(hash);
    if (erasure === undefined || (this.#put.get(hash) ?? 0) >= erasure.seq) return false;
    return !(await isNamedSince(this.#history, hash, erasure.seq));
  }
}

/**
 * Returns those of the given contents that are erased. A content is no longer erased once an event after the erasure
 * names the content.
 */
export async function erasedAmong(history: HistoryContext, hashes: Iterable<Hash>): Promise<ReadonlySet<Hash>> {
  const erasures = await erasuresInForce(history);
  const erased = new Set<Hash>();
  if (erasures.size === 0) return erased;
  for (const hash of hashes) {
    const erasure = erasures.of(hash);
    if (erasure !== undefined && !(await isNamedSince(history, hash, erasure.seq))) erased.add(hash);
  }
  return erased;
}

interface Found {
  readonly seq: number;
  readonly erased: ReadonlySet<Hash>;
}

const found = memoKey<Found>("erased contents");

/** Returns all contents that this history has erased, except those that were recorded again after their erasure. */
export async function erasedContents(history: HistoryContext): Promise<ReadonlySet<Hash>> {
  // The head is read before the erasures. An erasure that is recorded between these two reads belongs to a later head,
  // and the result is remembered only for the head that was read.
  const { seq } = await history.index.head();
  const { all } = await erasuresInForce(history);
  if (all.length === 0) return NONE;
  const known = history.memo.get(found);
  if (known?.seq === seq) return known.erased;
  const erased = await erasedAmong(
    history,
    all.flatMap(({ contents }) => contents),
  );
  history.memo.set(found, { seq, erased });
  return erased;
}

const NONE: ReadonlySet<Hash> = new Set();

/**
 * True if an event after event `seq` names the content as a state of a path, or in the record of an open conflict, a
 * version, or a path outside of the workspace.
 */
async function isNamedSince(history: HistoryContext, hash: Hash, seq: number): Promise<boolean> {
  const { index } = history;
  if (((await index.withContent(hash))?.seq ?? 0) > seq) return true;
  const rows = [
    ...(await index.openRecords("conflict:")),
    ...(await index.records("version:")),
    ...(await index.records("outside")),
  ].filter((row) => row.seq > seq);
  return (await readEvents(history, rows)).some(({ record }) => JSON.stringify(record).includes(hash));
}

/**
 * A batch that calls `onPut` once it is committed, with the contents that `put` and `putStream` stored. Contents that
 * `putBlock` stored are not reported.
 */
class NotingBatch implements BlobBatch {
  readonly #batch: BlobBatch;
  readonly #onPut: (hashes: readonly Hash[]) => Promise<void>;
  readonly #hashes: Hash[] = [];

  constructor(batch: BlobBatch, onPut: (hashes: readonly Hash[]) => Promise<void>) {
    this.#batch = batch;
    this.#onPut = onPut;
  }

  async put(content: Uint8Array): Promise<Hash> {
    const hash = await this.#batch.put(content);
    this.#hashes.push(hash);
    return hash;
  }

  async putStream(pieces: Parameters<BlobBatch["putStream"]>[0]): ReturnType<BlobBatch["putStream"]> {
    const put = await this.#batch.putStream(pieces);
    this.#hashes.push(put.hash);
    return put;
  }

  putBlock(...given: Parameters<BlobBatch["putBlock"]>): Promise<void> {
    return this.#batch.putBlock(...given);
  }

  async commit(options?: Parameters<BlobBatch["commit"]>[0]): Promise<void> {
    await this.#batch.commit(options);
    await this.#onPut(this.#hashes);
  }

  abandon(): Promise<void> {
    return this.#batch.abandon();
  }
}
