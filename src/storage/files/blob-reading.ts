import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { BlobInfo, BlobReader, ByteRange } from "../blob-store.ts";
import type { BlobBlock } from "../blob-block.ts";
import type { BlobPlace, PlacedBlob } from "../blob-index.ts";
import { withTrouble } from "../io-trouble.ts";
import type { DamagedContents } from "./damaged-contents.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { readBlocks } from "./block-reading.ts";
import type { BlobFiles } from "./pack-leases.ts";
import { readLarge, readLargeRange, type LargeSource } from "./large-reader.ts";
import { PIECE_BYTES } from "../large-format.ts";
import { PackReader } from "./pack-reader.ts";

/** Pieces of a large content to read between two yields to the event loop, since nothing in between waits. */
const BREATH_PIECES = 8;

/** The file of a large content, and the place where it was found, from `DamagedContents.locate`. */
interface LargeFound extends LargeSource {
  readonly at: string;
}

/** The reading half of a file blob store. */
export class BlobReading {
  readonly #files: BlobFiles;
  readonly #catchUp: (hash: Hash) => Promise<void>;
  readonly #damaged: DamagedContents;
  readonly #packs: PackReader;

  /** `catchUp`: updates the index from the disk for one content. `damaged`: records contents found damaged. */
  constructor(files: BlobFiles, damaged: DamagedContents, catchUp: (hash: Hash) => Promise<void>) {
    this.#files = files;
    this.#damaged = damaged;
    this.#catchUp = catchUp;
    this.#packs = new PackReader(files.disk, files.layout, files.index);
  }

  async get(hash: Hash): Promise<Buffer | undefined> {
    const found = await this.#locate(hash, (place) => this.#load(hash, place));
    if (found === undefined || Buffer.isBuffer(found)) return found;
    const { at } = found;
    return this.#noting(
      hash,
      () => Buffer.concat([...readLarge(this.#files.disk, found)]),
      () => at,
    );
  }

  async open(hash: Hash): Promise<BlobReader | undefined> {
    let size = 0;
    const found = await this.#locate(hash, (place) => {
      size = place.length;
      return this.#load(hash, place);
    });
    if (found === undefined) return undefined;
    if (Buffer.isBuffer(found)) return { size: found.length, pieces: (range) => piecesOf(found, range) };
    return { size, pieces: (range) => this.#stream(found, range) };
  }

  async *readMany(hashes: Iterable<Hash>): AsyncIterable<readonly [Hash, BlobReader | undefined]> {
    const missing: Hash[] = [];
    const stored: PlacedBlob[] = [];
    this.#files.index.together(() => {
      for (const hash of new Set(hashes)) {
        const place = this.#files.index.find(hash);
        if (place === undefined) missing.push(hash);
        else stored.push({ hash, place });
      }
    });
    stored.sort((a, b) => byPosition(a.place, b.place));
    for (const { hash, place } of stored) {
      yield [hash, { size: place.length, pieces: (range) => this.#whole(hash, place, range) }];
    }
    for (const hash of missing) yield [hash, await this.open(hash)];
  }

  blocks(hashes: readonly Hash[], mostBytes: number): AsyncIterable<BlobBlock> {
    const sources = { files: this.#files, packs: this.#packs, get: (hash: Hash) => this.get(hash) };
    return readBlocks(sources, hashes, mostBytes);
  }

  async *list(): AsyncIterable<BlobInfo> {
    const { index } = this.#files;
    for (const { id } of index.packs()) yield* index.inPack(id).map(infoOf);
    yield* index.large().map(infoOf);
  }

  close(): void {
    this.#packs.close();
  }

  /** Finds a content and reads it. If it is unknown or not where the index says, the disk is checked once. */
  async #locate<T>(hash: Hash, read: (place: BlobPlace) => T | undefined): Promise<T | undefined> {
    for (let attempt = 0; attempt < 3; attempt++) {
      const place = this.#files.index.find(hash);
      const found = place === undefined ? undefined : read(place);
      if (found !== undefined) return found;
      if (place === undefined && attempt > 0) return undefined;
      await this.#catchUp(hash);
    }
    return undefined;
  }

  /** Returns the content, or the file of a large one. `undefined` if it is not there. */
  #load(hash: Hash, place: BlobPlace): Buffer | LargeFound | undefined {
    const { layout } = this.#files;
    const locate = (): string | undefined => this.#damaged.locate(hash, place);
    if (place.kind === "pack") return this.#noting(hash, () => this.#packs.read(hash, place), locate);
    const at = withTrouble(`reading content ${hash}`, locate);
    const path = place.packed ? layout.largePacked(hash) : layout.largeRaw(hash);
    return at === undefined ? undefined : { path, packed: place.packed, hash, at };
  }

  /** Yields a content from its place, or from wherever it is if it has moved. */
  async *#whole(hash: Hash, place: BlobPlace, range?: ByteRange): AsyncIterable<Uint8Array> {
    const found = this.#load(hash, place);
    if (found !== undefined) return yield* Buffer.isBuffer(found) ? cut(found, range) : this.#stream(found, range);
    const reader = await this.open(hash);
    if (reader === undefined) {
      throw new ChronicleError("BLOB_MISSING", `content ${hash} is not in the store any more`, { data: { hash } });
    }
    yield* reader.pieces(range);
  }

  /** Reads, and records a damaged content and its place, so that putting it again repairs it. */
  #noting<T>(hash: Hash, read: () => T, where: () => string | undefined): T {
    try {
      return withTrouble(`reading content ${hash}`, read);
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "BLOB_CORRUPT") this.#damaged.add(hash, where());
      throw error;
    }
  }

  async *#stream(source: LargeFound, range?: ByteRange): AsyncIterable<Uint8Array> {
    const { disk } = this.#files;
    const pieces = range === undefined ? readLarge(disk, source) : readLargeRange(disk, source, range);
    try {
      for (let count = 1; ; count += 1) {
        const next = this.#noting(
          source.hash,
          () => pieces.next(),
          () => source.at,
        );
        if (next.done === true) return;
        yield next.value;
        if (count % BREATH_PIECES === 0) await yieldToEventLoop();
      }
    } finally {
      pieces.return(undefined);
    }
  }
}

async function* piecesOf(content: Buffer, range: ByteRange | undefined): AsyncIterable<Uint8Array> {
  yield* cut(content, range);
}

function* cut(content: Buffer, range?: ByteRange): Generator<Uint8Array> {
  const wanted = content.subarray(range?.start, range?.end);
  for (let at = 0; at < wanted.length; at += PIECE_BYTES) yield wanted.subarray(at, at + PIECE_BYTES);
}

function byPosition(a: BlobPlace, b: BlobPlace): number {
  if (a.kind === "large" || b.kind === "large") return Number(a.kind === "large") - Number(b.kind === "large");
  return a.pack - b.pack || a.block - b.block || a.at - b.at;
}

function infoOf({ hash, place }: PlacedBlob): BlobInfo {
  return { hash, size: place.length, storedBytes: place.stored };
}
