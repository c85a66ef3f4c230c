import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { isContainerWhole, MAX_CONTAINER_CONTENT_BYTES, splitBlocks, type BlobBlock } from "../blob-block.ts";
import type { BlobPlace, PlacedBlob } from "../blob-index.ts";
import { SHARED_BLOCK_BYTES } from "../block.ts";
import { withTrouble } from "../io-trouble.ts";
import { packBlocks } from "../pack-blocks.ts";
import type { BlobFiles } from "./pack-leases.ts";
import { PackReader } from "./pack-reader.ts";
import { readAt } from "./pack-scan.ts";
import type { BlobInfo, BlobReader, ByteRange } from "../blob-store.ts";
import { yieldToEventLoop, inSlices } from "../../util/yield-to-event-loop.ts";
import { readLarge, readLargeRange, type LargeSource } from "./large-reader.ts";
import { PIECE_BYTES } from "../large-format.ts";

/** The file of a large content. `at` is its place as `DamagedContents.locate` returns it. */
interface LargeFound extends LargeSource {
  readonly at: string;
}

/** Implements the reads of a `FileBlobStore`. */
export class BlobReading {
  readonly #files: BlobFiles;
  readonly #catchUp: (hash: Hash) => Promise<void>;
  readonly #damaged: DamagedContents;
  readonly #packs: PackReader;
  /**
   * Maps each large content whose hash this process has compared, or is comparing, to the identity of the file that was
   * read, and to the promise of the comparison. All requests for ranges of a content wait for the same comparison.
   */
  readonly #proved = new Map<Hash, { readonly file: string; readonly done: Promise<void> }>();

  /**
   * `damaged`: collects the contents that are found damaged. `catchUp`: updates the index from the disk for a content.
   */
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
    return { size, pieces: (range) => this.#stream(found, partOf(size, range)), prove: () => this.#prove(found) };
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
    return readBlocks({ ...sources, damaged: this.#damaged }, hashes, mostBytes);
  }

  async *list(): AsyncIterable<BlobInfo> {
    const { index } = this.#files;
    for (const { id } of index.packs()) yield* index.inPack(id).map(infoOf);
    yield* index.large().map(infoOf);
  }

  infos(hashes: Iterable<Hash>): readonly BlobInfo[] {
    const { index } = this.#files;
    return index.together(() =>
      [...new Set(hashes)].flatMap((hash) => {
        const place = index.find(hash);
        return place === undefined ? [] : [infoOf({ hash, place })];
      }),
    );
  }

  close(): void {
    this.#packs.close();
  }

  /**
   * Reads the content at its place in the index. If the index does not know the content, or names a place that does not
   * exist, updates the index and tries again.
   */
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

  #load(hash: Hash, place: BlobPlace): Buffer | LargeFound | undefined {
    const { layout } = this.#files;
    const locate = (): string | undefined => this.#damaged.locate(hash, place);
    if (place.kind === "pack") return this.#noting(hash, () => this.#packs.read(hash, place), locate);
    const at = withTrouble(`reading content ${hash}`, locate);
    const path = place.packed ? layout.largePacked(hash) : layout.largeRaw(hash);
    return at === undefined ? undefined : { path, packed: place.packed, hash, at };
  }

  async *#whole(hash: Hash, place: BlobPlace, range?: ByteRange): AsyncIterable<Uint8Array> {
    const found = this.#load(hash, place);
    if (found !== undefined)
      return yield* Buffer.isBuffer(found) ? cut(found, range) : this.#stream(found, partOf(place.length, range));
    const reader = await this.open(hash);
    if (reader === undefined) {
      throw new ChronicleError("BLOB_MISSING", `content ${hash} is not in the store any more`, { data: { hash } });
    }
    yield* reader.pieces(range);
  }

  /**
   * Runs a read. If the read finds the content damaged, adds the content to `#damaged`, so that the next put of the
   * content repairs it.
   */
  #noting<T>(hash: Hash, read: () => T, where: () => string | undefined): T {
    try {
      return withTrouble(`reading content ${hash}`, read);
    } catch (error) {
      if (error instanceof ChronicleError && error.code === "BLOB_CORRUPT") this.#damaged.add(hash, where());
      throw error;
    }
  }

  async #prove(source: LargeFound): Promise<void> {
    const stat = this.#files.disk.lstat(source.path);
    const file = stat && [stat.dev, stat.ino, stat.size, stat.mtimeNs].join(":");
    const known = this.#proved.get(source.hash);
    if (file !== undefined && known?.file === file) return known.done;
    const done = this.#readWhole(source);
    if (file !== undefined) this.#proved.set(source.hash, { file, done });
    try {
      await done;
    } catch (error) {
      this.#proved.delete(source.hash);
      throw error;
    }
  }

  async #readWhole(source: LargeFound): Promise<void> {
    for await (const _piece of this.#stream(source));
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
        if (count % PIECES_PER_TURN === 0) await yieldToEventLoop();
      }
    } finally {
      pieces.return(undefined);
    }
  }
}

/**
 * Returns the range; `undefined` for a range with the whole content, because a whole content is checked by its hash.
 */
function partOf(size: number, range: ByteRange | undefined): ByteRange | undefined {
  return range !== undefined && range.start === 0 && range.end >= size ? undefined : range;
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

/** The maximum number of contents that are looked up in one turn of the event loop. */
const SLICE = 500;

/** The maximum number of contents of a block that are read in one turn of the event loop. */
const READ_SLICE = 200;

type PackPlace = Extract<BlobPlace, { kind: "pack" }>;
type LargePlace = Extract<BlobPlace, { kind: "large" }>;

interface BlockSources {
  readonly files: BlobFiles;
  readonly damaged: DamagedContents;
  readonly packs: PackReader;
  readonly get: (hash: Hash) => Promise<Buffer | undefined>;
}

interface Group {
  readonly place: PackPlace;
  readonly hashes: Hash[];
}

interface Wanted {
  /** The wanted contents that are in packs, grouped by block. The groups are in the order of packs and blocks. */
  readonly groups: readonly Group[];
  readonly large: ReadonlyMap<Hash, LargePlace>;
  /** The wanted contents that are in the index and not known to be damaged. */
  readonly known: ReadonlySet<Hash>;
}

/** Implements `BlobStore.blocks`. */
async function* readBlocks(
  sources: BlockSources,
  hashes: readonly Hash[],
  mostBytes: number,
): AsyncGenerator<BlobBlock> {
  const { groups, large, known } = await find(sources, hashes);
  for (const group of groups) {
    const whole = wholeBlock(sources.packs, group, { known, mostBytes });
    if (whole !== undefined) yield whole;
    else yield* packBlocks(await readable(sources, group)).filter(({ bytes }) => bytes.length <= mostBytes);
  }
  for (const [hash, place] of large) {
    const container = place.stored > mostBytes ? undefined : readContainer(sources.files, hash, place);
    if (container !== undefined) yield container;
  }
}

async function find({ files: { index }, damaged }: BlockSources, hashes: readonly Hash[]): Promise<Wanted> {
  const groups = new Map<string, Group>();
  const large = new Map<Hash, LargePlace>();
  const known = new Set<Hash>();
  for await (const some of inSlices([...new Set(hashes)], SLICE)) {
    const places = index.together(() => some.map((hash) => index.find(hash)));
    places.forEach((place, i) => {
      const hash = some[i] as Hash;
      if (place === undefined || damaged.has(hash)) return;
      known.add(hash);
      if (place.kind === "large") {
        large.set(hash, place);
        return;
      }
      const key = `${place.pack}:${place.block}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { place, hashes: [hash] });
      else group.hashes.push(hash);
    });
  }
  const inOrder = [...groups.values()].sort((a, b) => a.place.pack - b.place.pack || a.place.block - b.place.block);
  return { groups: inOrder, large, known };
}

/**
 * Returns a block as it is stored. Returns `undefined` if the block is too long or damaged, or has a content that is
 * not known (`Wanted.known`). A block may hold contents that the collector has removed from the index.
 */
function wholeBlock(
  packs: PackReader,
  { place }: Group,
  { known, mostBytes }: { readonly known: ReadonlySet<Hash>; readonly mostBytes: number },
): BlobBlock | undefined {
  if (place.blockBytes > mostBytes) return undefined;
  const block = withTrouble("reading a block", () => packs.readBlock(place));
  return block?.entries.every(({ hash }) => known.has(hash)) === true ? block : undefined;
}

/**
 * Returns the readable contents of a group. Returns an empty list if the group is one content that is too long for a
 * shared block. Such a content has a block of its own, and `wholeBlock` has found that this block is too long, missing
 * or damaged.
 */
async function readable({ get }: BlockSources, { place, hashes }: Group): Promise<Buffer[]> {
  if (place.length > SHARED_BLOCK_BYTES) return [];
  const contents: Buffer[] = [];
  for await (const some of inSlices(hashes, READ_SLICE)) {
    for (const hash of some) {
      try {
        const content = await get(hash);
        if (content !== undefined) contents.push(content);
      } catch (error) {
        if (!(error instanceof ChronicleError) || error.code !== "BLOB_CORRUPT") throw error;
      }
    }
  }
  return contents;
}

/**
 * Returns the container of a large content; `undefined` if the content has no container or is too long, or if the
 * container is unreadable or damaged. If the container is unreadable or damaged, a later request for the content alone
 * reports the error, or finds the content's new place.
 */
function readContainer({ disk, layout }: BlobFiles, hash: Hash, place: LargePlace): BlobBlock | undefined {
  if (!place.packed || place.length > MAX_CONTAINER_CONTENT_BYTES) return undefined;
  try {
    return withTrouble(`reading content ${hash}`, () => {
      const fd = disk.open(layout.largePacked(hash), "read");
      try {
        const [first, ...rest] = splitBlocks(readAt(disk, fd, 0, place.stored));
        if (first === undefined || first.head !== undefined || rest.length > 0) return undefined;
        return first.entries[0]?.hash === hash && isContainerWhole(first) ? first : undefined;
      } finally {
        disk.close(fd);
      }
    });
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}

/**
 * The contents that were found damaged, each with the place where it was read. Writers treat these contents as not
 * stored. A content counts as sound again once another process has put it into another place or file.
 */
export class DamagedContents {
  readonly #files: BlobFiles;
  readonly #replaced: (hash: Hash) => void;
  readonly #at = new Map<Hash, string | undefined>();

  /** `replaced`: called with a content that is now in another place or file. */
  constructor(files: BlobFiles, replaced: (hash: Hash) => void) {
    this.#files = files;
    this.#replaced = replaced;
  }

  get size(): number {
    return this.#at.size;
  }

  add(hash: Hash, at: string | undefined = this.#where(hash)): void {
    this.#at.set(hash, at);
  }

  delete(hash: Hash): void {
    this.#at.delete(hash);
  }

  has(hash: Hash): boolean {
    if (!this.#at.has(hash)) return false;
    if (this.#at.get(hash) === this.#where(hash)) return true;
    this.#at.delete(hash);
    this.#replaced(hash);
    return false;
  }

  /**
   * Returns a text that identifies a place, even after the index is rebuilt. The text differs once the content is put
   * again. Returns `undefined` if the place does not exist.
   */
  locate(hash: Hash, place: BlobPlace): string | undefined {
    const { disk, layout, index } = this.#files;
    if (place.kind === "pack") {
      const pack = index.packs().find(({ id }) => id === place.pack);
      return pack === undefined ? undefined : `${pack.ulid} ${place.block} ${place.at}`;
    }
    const path = place.packed ? layout.largePacked(hash) : layout.largeRaw(hash);
    const stat = disk.lstat(path);
    return stat === undefined ? undefined : `${path} ${stat.ino} ${stat.ctimeNs}`;
  }

  #where(hash: Hash): string | undefined {
    const place = this.#files.index.find(hash);
    return place === undefined ? undefined : this.locate(hash, place);
  }
}

/** The number of pieces of a large content that are read in one turn of the event loop. */
const PIECES_PER_TURN = 8;
