import { isHash, type Hash } from "../../core/values/hash.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Disk } from "../../disk/disk.ts";
import type { BlobProblem, BlobVerifyOptions } from "../blob-store.ts";
import type { PackRow, PlacedBlob } from "../blob-index.ts";
import { isLost, listPacks } from "./blob-recovery.ts";
import { withTrouble } from "../io-trouble.ts";
import { isStoredWhole, PACK_HEADER_BYTES, type BlockHead, unpackBlock } from "../block.ts";
import type { BlobFiles } from "./pack-leases.ts";
import { readLarge, type LargeSource } from "./large-reader.ts";
import { openPack } from "./pack-reader.ts";
import { damagedIn, isPlaceIn, readPackUlid, readStored, scanPack } from "./pack-scan.ts";

/** The number of bytes that are read in one turn of the event loop. */
const BYTES_PER_TURN = 8 * 1024 * 1024;

interface PackFile {
  readonly path: string;
  readonly size: number;
  readonly sealed: boolean;
  readonly row: PackRow | undefined;
  /** The pack's ULID; `undefined` for a pack in a lane that the index does not know. */
  readonly ulid: string | undefined;
}

class Progress {
  readonly #total: number;
  readonly #tell: BlobVerifyOptions["onProgress"];
  #done = 0;
  #reportAt = BYTES_PER_TURN;

  constructor(total: number, tell: BlobVerifyOptions["onProgress"]) {
    this.#total = total;
    this.#tell = tell;
  }

  async add(bytes: number): Promise<void> {
    this.#done += bytes;
    if (this.#done < this.#reportAt) return;
    this.#reportAt = this.#done + BYTES_PER_TURN;
    this.#tell?.(Math.min(this.#done, this.#total), this.#total);
    await new Promise((resolve) => setImmediate(resolve));
  }

  end(): void {
    this.#tell?.(this.#total, this.#total);
  }
}

/**
 * Reads every pack and every large file, and yields the faults, including those of the index. A lane is the place of
 * one pack to which one writer at a time appends (see `PackLeases`). Bytes in a lane that the index has not published
 * are not checked, because nothing relies on them. The caller holds a lease, unless the store is read-only.
 */
export async function* verifyBlobs(files: BlobFiles, options: BlobVerifyOptions): AsyncGenerator<BlobProblem> {
  const packs = packFiles(files);
  const large = largeFiles(files);
  const total = [...packs, ...large.sound].reduce((sum, { size }) => sum + size, 0);
  const progress = new Progress(total, options.onProgress);
  for (const pack of packs) yield* verifyPack(files, pack, progress, options.onBlob);
  for (const source of large.sound) yield* verifyLarge(files, source, progress, options.onBlob);
  yield* large.strange;
  yield* missingFiles(files, packs);
  progress.end();
}

function packFiles(files: BlobFiles): PackFile[] {
  const { disk, layout, index } = files;
  return withTrouble(`listing ${layout.packs}`, () => {
    const rows = index.packs();
    const { sealed, active } = listPacks(files);
    return [
      ...sealed.map((ulid): PackFile => {
        const path = layout.sealedPack(ulid);
        const row = rows.find((known) => known.ulid === ulid);
        return { path, size: disk.lstat(path)?.size ?? 0, sealed: true, row, ulid };
      }),
      ...active.map(({ lane, size }): PackFile => {
        const row = rows.find((known) => known.lane === lane);
        return { path: layout.activePack(lane), size, sealed: false, row, ulid: row?.ulid };
      }),
    ];
  });
}

async function* verifyPack(
  files: BlobFiles,
  pack: PackFile,
  progress: Progress,
  onBlob: BlobVerifyOptions["onBlob"],
): AsyncGenerator<BlobProblem> {
  const { disk, index } = files;
  const rows = pack.row === undefined ? [] : index.inPack(pack.row.id);
  const fd = openFor(files, pack);
  if (typeof fd !== "number") {
    // A pack whose file was removed after the listing is skipped.
    if (fd !== undefined) yield damage(pack, 0, fd.fault, hashesOf(rows));
    return;
  }
  try {
    const promised = promisedBytes(pack);
    yield* verifyEnds(disk, fd, pack, rows);
    const found: FoundParts = { blocks: new Map(), told: [uncheckedBytes(files, pack)] };
    for (const part of scanPack(disk, fd, PACK_HEADER_BYTES, Math.min(promised, pack.size))) {
      if (part.kind === "garbage") {
        found.told.push(part);
        if (!isOpenTail(pack, part.to)) yield garbage(pack, part, rows);
        continue;
      }
      found.blocks.set(part.offset, part.head);
      const stored = withTrouble(`reading ${pack.path}`, () => readStored(disk, fd, part.offset, part.head));
      const damaged = damagedIn(part.head, unpackBlock(part.head, stored));
      if (damaged.length === 0 && !isStoredWhole(part.head, stored)) {
        yield damage(pack, part.offset, "bytes of a block were changed, though its contents can still be read");
      }
      for (const { hash } of damaged) yield* damagedContent(files, pack, part.offset, hash);
      for (const entry of part.head.entries) if (!damaged.includes(entry)) onBlob?.(entry.hash);
      await progress.add(part.head.blockBytes);
    }
    const astray = rows.filter((row) => pointsNowhere(row, found));
    if (astray.length > 0)
      yield indexWrong(pack.path, "the index states wrong places for contents of this pack", hashesOf(astray));
  } finally {
    disk.close(fd);
  }
}

/**
 * Returns the descriptor of the open pack, or a fault if the file is not the expected pack; `undefined` if the file is
 * missing.
 */
function openFor(
  { disk, layout }: BlobFiles,
  { path, row }: PackFile,
): number | { readonly fault: string } | undefined {
  try {
    const fd = withTrouble(`opening ${path}`, () =>
      row === undefined ? disk.open(path, "read") : openPack(disk, layout, row),
    );
    if (fd !== undefined || disk.lstat(path) === undefined) return fd;
    return { fault: "the pack's header names another pack" };
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "FORMAT_UNSUPPORTED") throw error;
    return { fault: error.message };
  }
}

/**
 * Returns the number of bytes that a pack must have. In a lane, these are the bytes that the index has published, or
 * all bytes if the index does not know the pack.
 */
function promisedBytes({ sealed, size, row }: PackFile): number {
  return sealed ? Math.max(size, row?.bytes ?? 0) : (row?.bytes ?? size);
}

/**
 * True if garbage that ends at `to` can be a torn tail. A torn tail is at the end of a pack that is in a lane, but not
 * in the index.
 */
function isOpenTail({ sealed, size, row }: PackFile, to: number): boolean {
  return !sealed && row === undefined && to === size;
}

function* verifyEnds(disk: Disk, fd: number, pack: PackFile, rows: readonly PlacedBlob[]): Generator<BlobProblem> {
  const promised = promisedBytes(pack);
  if (promised > 0 && !isSoundHeader(disk, fd, pack)) yield damage(pack, 0, "the pack's header is damaged");
  if (promised <= pack.size) return;
  const lost = hashesWithin(rows, pack.size, promised);
  yield damage(pack, pack.size, `the pack is cut off: ${promised - pack.size} bytes are missing`, lost);
}

function isSoundHeader(disk: Disk, fd: number, { path, sealed, row }: PackFile): boolean {
  try {
    const ulid = readPackUlid(disk, fd);
    return ulid !== undefined && (sealed ? path.endsWith(`/${ulid}.pack`) : row === undefined || row.ulid === ulid);
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "FORMAT_UNSUPPORTED") throw error;
    return false;
  }
}

function garbage(
  pack: PackFile,
  part: { readonly from: number; readonly to: number },
  rows: readonly PlacedBlob[],
): BlobProblem {
  const hurt = hashesWithin(rows, part.from, part.to);
  return damage(pack, part.from, `${part.to - part.from} bytes are not a block`, hurt);
}

/**
 * Yields the fault of a damaged content. Yields nothing if the index names another copy. The other copy is checked at
 * its own place, and the collector frees the damaged copy.
 */
function* damagedContent({ index }: BlobFiles, pack: PackFile, offset: number, hash: Hash): Generator<BlobProblem> {
  const place = index.find(hash);
  const isHere =
    place === undefined || (place.kind === "pack" && place.pack === pack.row?.id && place.block === offset);
  if (!isHere) return;
  const where = `${pack.path} at byte ${offset}`;
  yield { kind: "blob-corrupt", where, detail: "the bytes have another hash", hashes: [hash], ...fileOf(pack) };
}

function indexWrong(where: string, detail: string, hashes: readonly Hash[]): BlobProblem {
  return { kind: "index-wrong", where, detail, hashes };
}

interface FoundParts {
  readonly blocks: Map<number, BlockHead>;
  /**
   * The byte ranges that `blocks` does not cover: ranges that are reported as garbage, and ranges that are not checked.
   */
  readonly told: { readonly from: number; readonly to: number }[];
}

/**
 * Returns the range of bytes that follows the checked bytes. The file does not have the bytes of this range, or the
 * bytes were published after the packs were listed.
 */
function uncheckedBytes({ index }: BlobFiles, pack: PackFile): { readonly from: number; readonly to: number } {
  const promised = promisedBytes(pack);
  const published = index.packs().find(({ id }) => id === pack.row?.id)?.bytes ?? 0;
  return { from: Math.min(promised, pack.size), to: Math.max(promised, published) };
}

/**
 * True if the content of a row is not at its place. False if the bytes at the place are reported as garbage, or are not
 * checked.
 */
function pointsNowhere({ hash, place }: PlacedBlob, { blocks, told }: FoundParts): boolean {
  if (place.kind !== "pack") return false;
  const head = blocks.get(place.block);
  if (head !== undefined) return !isPlaceIn(head, hash, place);
  return !told.some(({ from, to }) => place.block >= from && place.block < to);
}

interface LargeFile extends LargeSource {
  readonly size: number;
}

function largeFiles({ disk, layout }: BlobFiles): {
  readonly sound: readonly LargeFile[];
  readonly strange: readonly BlobProblem[];
} {
  const sound: LargeFile[] = [];
  const strange: BlobProblem[] = [];
  for (const { name, kind } of disk.list(layout.large)) {
    const folder = `${layout.large}/${name.toString("latin1")}`;
    if (folder === layout.largeTmp) continue;
    const inside = kind === "dir" ? disk.list(folder) : [{ name: Buffer.alloc(0), kind }];
    for (const file of inside) {
      const text = file.name.toString("latin1");
      const path = text === "" ? folder : `${folder}/${text}`;
      const hash = text.slice(0, 64);
      const packed = text === `${hash}.z`;
      if (file.kind === "file" && isHash(hash) && (packed || text === hash) && layout.largeFolder(hash) === folder) {
        sound.push({ path, packed, hash, size: disk.lstat(path)?.size ?? 0 });
      } else {
        strange.push({ kind: "pack-damaged", where: path, detail: "no file of the store has such a name", hashes: [] });
      }
    }
  }
  return { sound, strange };
}

async function* verifyLarge(
  { disk }: BlobFiles,
  source: LargeFile,
  progress: Progress,
  onBlob: BlobVerifyOptions["onBlob"],
): AsyncGenerator<BlobProblem> {
  const { path, hash } = source;
  try {
    let read = 0;
    for (const _piece of readLarge(disk, source, { onStored: (bytes) => (read = bytes), isStrict: true }))
      await progress.add(read);
    onBlob?.(hash);
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "BLOB_CORRUPT") throw error;
    yield { kind: "blob-corrupt", where: path, detail: error.message, hashes: [hash], file: path };
  }
}

function* missingFiles(files: BlobFiles, packs: readonly PackFile[]): Generator<BlobProblem> {
  const { disk, layout, index } = files;
  const there = new Set(packs.map(({ row }) => row?.id));
  for (const row of index.packs()) {
    // `isLost` is false for a pack that a writer began in a lane after the listing.
    if (there.has(row.id) || !isLost(files, row)) continue;
    yield indexWrong(layout.sealedPack(row.ulid), "the pack is missing", hashesOf(index.inPack(row.id)));
  }
  for (const { hash, place } of index.large()) {
    const where = place.kind === "large" && place.packed ? layout.largePacked(hash) : layout.largeRaw(hash);
    if (disk.lstat(where) === undefined) yield indexWrong(where, "the large content is missing", [hash]);
  }
}

function damage(pack: PackFile, offset: number, detail: string, hashes: readonly Hash[] = []): BlobProblem {
  return { kind: "pack-damaged", where: `${pack.path} at byte ${offset}`, detail, hashes, ...fileOf(pack) };
}

/**
 * Returns the ULID of a pack, by which `setAside` finds the pack. The path of the pack's file would not do, because it
 * changes when the pack is sealed.
 */
function fileOf({ ulid }: PackFile): Pick<BlobProblem, "file"> {
  return ulid === undefined ? {} : { file: ulid };
}

function hashesWithin(rows: readonly PlacedBlob[], from: number, to: number): Hash[] {
  return hashesOf(
    rows.filter(({ place }) => place.kind === "pack" && place.block + place.blockBytes > from && place.block < to),
  );
}

function hashesOf(rows: readonly PlacedBlob[]): Hash[] {
  return rows.map(({ hash }) => hash);
}
