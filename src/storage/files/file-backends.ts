import { type Hash, sha256 } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { BlobIntake, BlobSink, SinkGrant, SinkResult, ThreadSinks } from "../blob-intake.ts";
import { type StoreLayout, type BlobLayout, storeLayout } from "../layout.ts";
import { FileBlobStore } from "./file-blob-store.ts";
import type { PackLease } from "./pack-leases.ts";
import { openPackSink, type PackSink } from "./pack-sink.ts";
import { readFully } from "../../disk/write-fully.ts";
import type { LogGlance, FoundContent, StorageBackends } from "../storage-backends.ts";
import { openIfThere } from "./log-reader.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { PACK_HEADER_BYTES, unpackBlock } from "../block.ts";
import { largeLength, readLarge } from "./large-reader.ts";
import { readStored, scanPack, type PackPart } from "./pack-scan.ts";
import { removeTree } from "../../disk/remove-tree.ts";
import type { BlobIndex, BlobIndexOpener } from "../blob-index.ts";
import type { IndexStore } from "../index-store.ts";
import type { Lock } from "../lock.ts";
import { FileEventLog } from "./file-event-log.ts";
import { FsyncScheduler } from "./fsync-scheduler.ts";

export interface FileBackendsOptions {
  readonly disk: Disk;
  /** Returns a new, unique ULID, for names of packs and of temporary files. */
  readonly newPackId: () => string;
  readonly openIndex: (path: string, tell?: (note: string) => void) => IndexStore;
  readonly scratchIndex: () => IndexStore;
  /** Removes the files of an index. Default: does nothing, because the index has no files. */
  readonly discardIndex?: (path: string) => void;
  readonly openBlobIndex: (path: string) => BlobIndexOpener;
  /**
   * Opens a temporary blob index, for reading while the disk takes no writes. Default: operations that need such an
   * index throw.
   */
  readonly scratchBlobIndex?: () => BlobIndex;
  readonly lock: (path: string) => Lock;
}

/** Returns backends for a store in a folder on a disk: packs and NDJSON, with the given indexes and locks. */
export function fileBackends(options: FileBackendsOptions): StorageBackends {
  const { disk, newPackId, lock, scratchIndex } = options;
  const together = new FsyncScheduler(disk);
  return {
    openBlobs: async (layout, how) => {
      const { scratchBlobIndex: scratch } = options;
      const openIndex = options.openBlobIndex(layout.blobs.index);
      const given = { disk, layout: layout.blobs, openIndex, scratchIndex: scratch, lock, newPackId };
      const blobs = await FileBlobStore.open({ ...given, ...how });
      const intake = new FileIntake({ disk, layout, blobs, newPackId });
      return { blobs, intake, isReadOnly: () => blobs.readOnly, placesOf: (hashes) => blobs.placesOf(hashes) };
    },
    openLog: async (paths, { after, syncsTogether = false } = {}) =>
      new FileEventLog(disk, paths, after, syncsTogether ? together : undefined),
    openIndex: async (path, tell) => options.openIndex(path, tell),
    scratchIndex,
    openLock: async (path) => lock(path),
    hasLog: (path) => disk.lstat(path) !== undefined,
    lastEvent: (path) => glanceAtLog(disk, path),
    discardIndex: (path) => options.discardIndex?.(path),
    removeLog: (path) => {
      if (disk.lstat(path) !== undefined) disk.unlink(path);
    },
    move: (from, to) => disk.rename(from, to),
    removeFolder: (folder) => removeTree(disk, folder),
    isStore: (folder) => disk.lstat(storeLayout(folder).blobs.packs)?.kind === "dir",
    findContents: (home, wanted) => findContents(disk, storeLayout(home).blobs, wanted),
  };
}

/** Matches the end of a canonical line, with its newline. */
const ENDING = /,"seq":([1-9]\d{0,15}),"ts":"([^"]{24})"\}\n$/;

/** The number of bytes that are read at the end of a log. A match of `ENDING` is at most this long. */
const ENDING_BYTES = 66;

/** Implements `StorageBackends.lastEvent`: reads only the end of the last line. */
function glanceAtLog(disk: Disk, path: string): LogGlance | undefined {
  const fd = openIfThere(disk, path);
  if (fd === undefined) return undefined;
  try {
    const { size } = disk.fstat(fd);
    const ending = Buffer.alloc(Math.min(ENDING_BYTES, size));
    readFully(disk, fd, ending, size - ending.length);
    const found = ENDING.exec(ending.toString("latin1"));
    return found === null ? undefined : { seq: Number(found[1]), ts: String(found[2]) };
  } finally {
    disk.close(fd);
  }
}

/** The number of blocks of a pack that are read in one turn of the event loop. */
const SLICE = 500;

/** Implements `StorageBackends.findContents`. Reads the packs and the large files, without an index. */
async function* findContents(
  disk: Disk,
  layout: BlobLayout,
  wanted: ReadonlyMap<Hash, unknown>,
): AsyncGenerator<FoundContent, void> {
  for (const path of packsIn(disk, layout)) {
    if (wanted.size === 0) return;
    yield* inPack(disk, path, wanted);
  }
  for (const hash of [...wanted.keys()]) {
    for (const packed of [false, true]) {
      const found = wanted.has(hash) ? largeOf(disk, layout, { hash, packed }) : undefined;
      if (found !== undefined) yield found;
    }
  }
}

function packsIn(disk: Disk, layout: BlobLayout): string[] {
  return [layout.packs, layout.active].flatMap((folder) =>
    (despiteDamage(() => disk.list(folder)) ?? [])
      .filter(({ name, kind }) => kind === "file" && name.toString("latin1").endsWith(".pack"))
      .map(({ name }) => `${folder}/${name.toString("latin1")}`),
  );
}

async function* inPack(
  disk: Disk,
  path: string,
  wanted: ReadonlyMap<Hash, unknown>,
): AsyncGenerator<FoundContent, void> {
  const fd = despiteDamage(() => disk.open(path, "read"));
  if (fd === undefined) return;
  try {
    const parts = scanPack(disk, fd, PACK_HEADER_BYTES, disk.fstat(fd).size);
    for (let count = 1; ; count += 1) {
      const part = despiteDamage(() => parts.next());
      if (part === undefined || part.done === true) return;
      for (const one of despiteDamage(() => inBlock(disk, fd, part.value, wanted)) ?? []) {
        const { hash, bytes } = one;
        yield { hash, size: bytes.length, where: path, pieces: () => [bytes] };
      }
      if (count % SLICE === 0) await yieldToEventLoop();
    }
  } finally {
    disk.close(fd);
  }
}

function inBlock(
  disk: Disk,
  fd: number,
  part: PackPart,
  wanted: ReadonlyMap<Hash, unknown>,
): { readonly hash: Hash; readonly bytes: Buffer }[] {
  const entries = part.kind === "garbage" ? [] : part.head.entries.filter(({ hash }) => wanted.has(hash));
  if (part.kind === "garbage" || entries.length === 0) return [];
  const raw = unpackBlock(part.head, readStored(disk, fd, part.offset, part.head));
  if (raw === undefined) return [];
  return entries.flatMap(({ hash, at, length }) => {
    const bytes = raw.subarray(at, at + length);
    return sha256(bytes) === hash ? [{ hash, bytes }] : [];
  });
}

function largeOf(
  disk: Disk,
  layout: BlobLayout,
  { hash, packed }: { readonly hash: Hash; readonly packed: boolean },
): FoundContent | undefined {
  const where = packed ? layout.largePacked(hash) : layout.largeRaw(hash);
  const source = { path: where, packed, hash };
  const size = despiteDamage(() => largeLength(disk, source));
  if (size === undefined) return undefined;
  return { hash, size, where, pieces: () => readLarge(disk, source) };
}

function despiteDamage<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ChronicleError || errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

interface FileIntakeOptions {
  readonly disk: Disk;
  readonly layout: StoreLayout;
  readonly blobs: FileBlobStore;
  readonly newPackId: () => string;
}

/**
 * Writes contents in bulk into packs. Each sink has a lane of its own: the place of one pack to which only this sink
 * appends (see `PackLeases`).
 */
export class FileIntake implements BlobIntake {
  readonly #options: FileIntakeOptions;

  constructor(options: FileIntakeOptions) {
    this.#options = options;
  }

  isSound(hash: Hash): boolean {
    return this.#options.blobs.isSound(hash);
  }

  async openSink(known: (hash: Hash) => boolean): Promise<BlobSink> {
    const { disk, layout, blobs, newPackId } = this.#options;
    const [lane] = await blobs.takeLanes(1);
    if (lane === undefined) throw new Error("no lane was given");
    try {
      const sink = openPackSink(disk, layout.blobs, { grant: lane.grant, newPackId, known });
      return new LaneSink(sink, lane, (result) => blobs.publish([result]));
    } catch (error) {
      lane.release();
      throw error;
    }
  }

  readonly openThreadSinks = async (count: number): Promise<ThreadSinks> => {
    const { blobs, layout } = this.#options;
    const lanes = await blobs.takeLanes(count);
    const known = blobs.isEmpty ? undefined : blobs.checkedBlocks;
    return {
      grants: lanes.map(({ grant }): SinkGrant => ({ home: layout.home, lane: grant, known })),
      publish: (results) => blobs.publish(results),
      release: () => {
        for (const lane of lanes) lane.release();
      },
    };
  };
}

class LaneSink implements BlobSink {
  readonly #sink: PackSink;
  readonly #lane: PackLease;
  readonly #publish: (result: SinkResult) => Promise<void>;

  constructor(sink: PackSink, lane: PackLease, publish: (result: SinkResult) => Promise<void>) {
    this.#sink = sink;
    this.#lane = lane;
    this.#publish = publish;
  }

  put(content: Uint8Array, hash?: Hash): Hash {
    return this.#sink.put(content, hash);
  }

  putLarge(pieces: Iterable<Uint8Array>, cloneFrom?: string): { readonly hash: Hash; readonly size: number } {
    return this.#sink.putLarge(pieces, cloneFrom);
  }

  async finish(): Promise<void> {
    await this.#publish(this.#sink.finish());
    this.#lane.release();
  }

  abandon(): void {
    this.#sink.abandon();
    this.#lane.release();
  }
}
