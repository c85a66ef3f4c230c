import { errnoOf } from "../../core/values/errors.ts";
import { isHash, type Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { LargeRow, PackRow } from "../blob-index.ts";
import { BlobRowsBuilder, type BlobRows } from "../blob-rows.ts";
import { withTrouble } from "../io-trouble.ts";
import { PACK_HEADER_BYTES } from "../block.ts";
import type { BlobFiles, PackLeases } from "./pack-leases.ts";
import { largeLength } from "./large-reader.ts";
import { addBlockRows, checkTail, readPackUlid, rowsByHeads, scanPack } from "./pack-scan.ts";
import { makeNamesSure } from "./sure-names.ts";

export interface PackListing {
  /** ULIDs of sealed packs. */
  readonly sealed: readonly string[];
  /**
   * The lanes that hold a pack, each with the size of the pack in bytes. A lane is the place of one pack to which one
   * writer at a time appends (see `PackLeases`).
   */
  readonly active: readonly { readonly lane: number; readonly size: number }[];
}

/** Lists the packs. The sizes of sealed packs are not read, because they never change. */
export function listPacks({ disk, layout }: BlobFiles): PackListing {
  const stems = (folder: string): string[] =>
    disk.list(folder).flatMap(({ name, kind }) => {
      const text = name.toString("latin1");
      return kind === "file" && text.endsWith(".pack") ? [text.slice(0, -".pack".length)] : [];
    });
  const lanes = stems(layout.active).filter((stem) => /^\d+$/.test(stem));
  const active = lanes.flatMap((stem) => {
    const lane = Number(stem);
    const size = disk.lstat(layout.activePack(lane))?.size;
    return size === undefined ? [] : [{ lane, size }];
  });
  return { sealed: stems(layout.packs), active };
}

/**
 * True if the index and the disk disagree on which packs exist, or on the size of a pack in a lane. Lanes of this
 * process are not compared. This check is cheap, because it opens no pack.
 */
export function isBehind(files: BlobFiles, lanes: PackLeases): boolean {
  const listing = listPacks(files);
  const rows = files.index.packs();
  const sealed = new Set(rows.filter(({ lane }) => lane === undefined).map(({ ulid }) => ulid));
  const active = new Map(rows.map((row) => [row.lane, row]));
  const others = listing.active.filter(({ lane }) => !lanes.holds(lane));
  const rowsElsewhere = rows.filter(({ lane }) => lane !== undefined && !lanes.holds(lane));
  return (
    listing.sealed.length !== sealed.size ||
    listing.sealed.some((ulid) => !sealed.has(ulid)) ||
    rowsElsewhere.length !== others.length ||
    others.some(({ lane, size }) => active.get(lane)?.bytes !== size)
  );
}

/**
 * Updates the index from the packs on the disk, after a power cut, a lost index or a killed writer. The caller holds
 * the collector's lock, shared or exclusively. The lanes of running writers are not touched.
 */
export async function catchUpPacks(files: BlobFiles, lanes: PackLeases): Promise<void> {
  const listing = listPacks(files);
  const { layout, index } = files;
  const unknown = listing.sealed.filter((ulid) => !isKnownSealed(index.packOf(ulid)));
  const paths = unknown.map((ulid) => layout.sealedPack(ulid));
  makeNamesSure(files, [layout.packs, layout.active], paths);
  for (const ulid of unknown) learnSealed(files, ulid);
  // Taking a lane checks the tail of the lane's pack, makes the tail durable, and publishes its contents
  // (`settleLane`).
  for (const { lane } of listing.active) (await lanes.tryTake(lane))?.release();
  const lost = files.index.packs().filter((row) => !lanes.holds(row.lane ?? -1) && isLost(files, row));
  if (lost.length > 0) files.index.apply({ forgetPacks: lost.map(({ id }) => id) });
}

/**
 * Publishes the contents of lanes that other processes hold and that the index does not know. Such lanes exist if the
 * index was lost while those processes ran. The caller holds the collector's lock exclusively, so no writer adds or
 * removes a block meanwhile.
 */
export function learnForeignLanes(files: BlobFiles, lanes: PackLeases): void {
  const { disk, layout, index } = files;
  for (const { lane, size } of listPacks(files).active) {
    if (lanes.holds(lane) || index.packs().some((row) => row.lane === lane)) continue;
    const path = layout.activePack(lane);
    withTrouble(`reading ${path}`, () => {
      const fd = disk.open(path, "read");
      try {
        const ulid = readPackUlid(disk, fd);
        const { rows, end } = checkTail(disk, fd, PACK_HEADER_BYTES, size);
        if (ulid !== undefined && rows.count > 0) index.apply({ packs: [{ ulid, lane, bytes: end }], rows });
      } finally {
        disk.close(fd);
      }
    });
  }
}

/**
 * Makes the names of large files durable, then publishes their contents. The names say which contents the files hold.
 * The bytes are not checked here, because a read of the whole content checks them.
 */
export function catchUpLarge(files: BlobFiles): void {
  const { layout, index } = files;
  const rows = listLarge(files).filter(({ hash }) => !index.has(hash));
  const folders = new Set([layout.large, ...rows.map(({ hash }) => layout.largeFolder(hash))]);
  const paths = rows.map((row) => largePath(files, row));
  makeNamesSure(files, [...folders], paths);
  if (rows.length > 0) index.apply({ large: rows });
}

/**
 * Updates the index for one content that is not in a pack: publishes its large file, raw or packed, or forgets the
 * content if it has no file.
 */
export function catchUpOneLarge(files: BlobFiles, hash: Hash): void {
  updateOneLarge(files, hash, (found) => {
    const { layout } = files;
    makeNamesSure(files, [layout.large, layout.largeFolder(hash)], [largePath(files, found)]);
  });
}

/**
 * Does the work of `catchUpOneLarge`. `beforeUse`: called with the row of a found file before the row enters the index.
 */
function updateOneLarge(files: BlobFiles, hash: Hash, beforeUse: (found: LargeRow) => void): void {
  const place = files.index.find(hash);
  if (place?.kind === "pack") return;
  const [found] = [false, true].flatMap((packed) => largeRow(files, hash, packed) ?? []);
  if (place !== undefined && place.packed === found?.packed) return;
  if (place === undefined && found === undefined) return;
  if (found !== undefined) beforeUse(found);
  files.index.apply({ forget: [hash], large: found === undefined ? [] : [found] });
}

/** A file that, by its name, has a large content. The file may be empty or damaged. */
interface LargeFile {
  readonly hash: Hash;
  readonly packed: boolean;
  readonly path: string;
}

export function largeFiles({ disk, layout }: BlobFiles): LargeFile[] {
  const found: LargeFile[] = [];
  for (const { name, kind } of disk.list(layout.large)) {
    const prefix = name.toString("latin1");
    if (kind !== "dir" || !/^[0-9a-f]{2}$/.test(prefix)) continue;
    for (const { name: file } of disk.list(`${layout.large}/${prefix}`)) {
      const [hash = "", suffix] = file.toString("latin1").split(".");
      if (!isHash(hash) || (suffix !== undefined && suffix !== "z")) continue;
      const packed = suffix === "z";
      found.push({ hash, packed, path: packed ? layout.largePacked(hash) : layout.largeRaw(hash) });
    }
  }
  return found;
}

/** Returns the rows of all large files, except empty files and packed files with a damaged header. */
function listLarge(files: BlobFiles): LargeRow[] {
  return largeFiles(files).flatMap(({ hash, packed }) => largeRow(files, hash, packed) ?? []);
}

/**
 * True if the pack is nowhere on the disk. The lane is checked first, because a running writer can seal the pack at any
 * time. Nobody removes the sealed pack meanwhile, because the caller holds the collector's lock, at least shared.
 */
export function isLost(files: BlobFiles, row: PackRow): boolean {
  return !isInLane(files, row) && files.disk.lstat(files.layout.sealedPack(row.ulid)) === undefined;
}

function isInLane({ disk, layout, index }: BlobFiles, row: PackRow): boolean {
  if (row.lane === undefined || disk.lstat(layout.activePack(row.lane)) === undefined) return false;
  // This pack may have been sealed, and a later pack may be in the lane now.
  return !index.packs().some((other) => other.lane === row.lane && other.id > row.id);
}

/**
 * A text that identifies the packs that were found in a read-only store. The text changes when a pack appears, grows,
 * is sealed, or is removed.
 */
export type FoundPacks = string;

/**
 * Fills the empty index of a store that cannot be written, from the heads of blocks and the names and headers of large
 * files. Returns the found packs. Takes no lock, so at any time a writer can seal a pack, or a collector can replace
 * one. `catchUpReadOnly` then finds the new packs.
 */
export function learnReadOnly(files: BlobFiles): FoundPacks {
  const found = findPacks(files);
  if (found === NO_PACKS) return found;
  // List the sealed packs only after reading the lanes. The list then includes each pack that was sealed before its
  // lane was read.
  for (const { lane } of listPacks(files).active) learnLane(files, lane);
  for (const ulid of listPacks(files).sealed) learnSealed(files, ulid, "may be gone");
  const { index } = files;
  const large = listLarge(files).filter(({ hash }) => !index.has(hash));
  if (large.length > 0) index.apply({ large });
  return found;
}

/**
 * Updates the index of a store that cannot be written, for one content that a read has not found. `known`: the packs
 * from which the index was filled. If the packs on the disk differ from these, fills the index anew. Returns the packs
 * from which the index is now filled.
 */
export function catchUpReadOnly(files: BlobFiles, hash: Hash, known: FoundPacks): FoundPacks {
  return withTrouble(`reading ${files.layout.folder}`, () => {
    if (findPacks(files) === known) {
      updateOneLarge(files, hash, () => undefined);
      return known;
    }
    const { index } = files;
    index.apply({ forgetPacks: index.packs().map(({ id }) => id), forget: index.large().map((one) => one.hash) });
    return learnReadOnly(files);
  });
}

const NO_PACKS: FoundPacks = "";

function findPacks(files: BlobFiles): FoundPacks {
  const { disk, layout } = files;
  return disk.lstat(layout.packs) === undefined ? NO_PACKS : JSON.stringify(listPacks(files));
}

function learnLane(files: BlobFiles, lane: number): void {
  const { disk, layout, index } = files;
  const fd = openUnlessGone(disk, layout.activePack(lane));
  if (fd === undefined) return;
  try {
    const ulid = readPackUlid(disk, fd);
    // Bytes after the last whole block may be a torn tail, on which no event relies.
    const { rows, end } = rowsAndEnd(disk, fd, disk.fstat(fd).size);
    if (ulid !== undefined) index.apply({ packs: [{ ulid, lane, bytes: end }], rows });
  } finally {
    disk.close(fd);
  }
}

function openUnlessGone(disk: Disk, path: string): number | undefined {
  try {
    return disk.open(path, "read");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function rowsAndEnd(disk: Disk, fd: number, size: number): { readonly rows: BlobRows; readonly end: number } {
  const rows = new BlobRowsBuilder();
  let end = PACK_HEADER_BYTES;
  for (const part of scanPack(disk, fd, PACK_HEADER_BYTES, size)) {
    if (part.kind === "garbage") continue;
    addBlockRows(rows, 0, part.offset, part.head);
    end = part.offset + part.head.blockBytes;
  }
  return { rows: rows.build(), end };
}

function isKnownSealed(row: PackRow | undefined): boolean {
  return row !== undefined && row.lane === undefined;
}

/**
 * Publishes the contents of a sealed pack. Skips the bytes that the index knows already. If the index knows more bytes
 * than exist, reads all bytes. With `may be gone`, does nothing if the pack does not exist.
 */
function learnSealed({ disk, layout, index }: BlobFiles, ulid: string, how?: "may be gone"): void {
  const row = index.packOf(ulid);
  if (isKnownSealed(row)) return;
  const path = layout.sealedPack(ulid);
  withTrouble(`reading ${path}`, () => {
    const fd = how === "may be gone" ? openUnlessGone(disk, path) : disk.open(path, "read");
    if (fd === undefined) return;
    try {
      const size = disk.fstat(fd).size;
      const settled = row !== undefined && row.bytes <= size ? row.bytes : PACK_HEADER_BYTES;
      const rows = rowsByHeads(disk, fd, Math.max(settled, PACK_HEADER_BYTES), size);
      const forgetPacks = row !== undefined && row.bytes > size ? [row.id] : [];
      index.apply({ forgetPacks, packs: [{ ulid, lane: undefined, bytes: size }], rows });
    } finally {
      disk.close(fd);
    }
  });
}

function largePath({ layout }: BlobFiles, { hash, packed }: Pick<LargeRow, "hash" | "packed">): string {
  return packed ? layout.largePacked(hash) : layout.largeRaw(hash);
}

function largeRow({ disk, layout }: BlobFiles, hash: Hash, packed: boolean): LargeRow | undefined {
  const path = packed ? layout.largePacked(hash) : layout.largeRaw(hash);
  const length = largeLength(disk, { path, packed, hash });
  // An empty file is the remnant of a file whose bytes never reached the disk.
  if (length === undefined || length === 0) return undefined;
  return { hash, packed, length, stored: disk.lstat(path)?.size ?? 0 };
}
