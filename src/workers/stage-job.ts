import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import { entryTime, timeNsOf, type EntryTime } from "../core/values/entry.ts";
import { hashFromBytes } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { Disk, FileStat } from "../disk/disk.ts";
import type { BlobPlace, PackRow } from "../storage/blob-index.ts";
import type { PackReader } from "../storage/files/pack-reader.ts";
import type { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { withMode } from "../worktree/apply/staging.ts";
import type { StageFile } from "../worktree/apply/restore-workers.ts";

// A worker thread runs this code to write contents of packs into new files. Input and output are columns, because
// objects are slow to send between threads.

export type PackPlace = Extract<BlobPlace, { kind: "pack" }>;

export interface PlacedFile {
  readonly file: StageFile;
  readonly place: PackPlace;
}

/** Files to write, in the order of their contents in the packs. */
export interface StageBatch {
  readonly kind: "packs";
  /** The packs whose ids are in `numbers`. */
  readonly packs: readonly PackRow[];
  readonly paths: readonly string[];
  /** The hash of each file's content, 32 bytes each. */
  readonly hashes: Uint8Array;
  /**
   * For each file: id of the pack, offset of the block in the pack, length of the block, offset of the content in the
   * unpacked block, length of the content, mode, modification time in ms (NaN: now), and the nanoseconds to add to that
   * time.
   */
  readonly numbers: Float64Array;
}

export interface StageColumns {
  /** For each file: 1 if the file was written, otherwise 0. */
  readonly done: Uint8Array;
  /** For each file: size, mtime (ns), ctime (ns), inode, device, links, owner, mode, group (-1: unknown). */
  readonly stats: BigInt64Array;
}

/** Files to remove. */
export interface RemoveBatch {
  readonly kind: "remove";
  readonly paths: readonly WorkspacePath[];
}

/** Removes the files of a batch. Throws the disk's error for the first file that cannot be removed. */
export function removeBatch(fs: ConfinedFs, { paths }: RemoveBatch): void {
  for (const path of paths) fs.unlink(path);
}

const NUMBERS = 8;
/** The time columns of a file that keeps the time at which it is written. */
const NOW: EntryTime = { mtimeMs: Number.NaN, mtimeRestNs: 0 };
const STAT_FIELDS = 9;

export function toStageBatch(placed: readonly PlacedFile[], packs: readonly PackRow[]): StageBatch {
  const hashes = new Uint8Array(placed.length * 32);
  const numbers = new Float64Array(placed.length * NUMBERS);
  placed.forEach(({ file, place }, i) => {
    hashes.set(Buffer.from(file.hash, "hex"), i * 32);
    const { pack, block, blockBytes, at, length } = place;
    const time = file.mtimeNs === undefined ? NOW : entryTime(file.mtimeNs);
    numbers.set([pack, block, blockBytes, at, length, file.mode, time.mtimeMs, time.mtimeRestNs ?? 0], i * NUMBERS);
  });
  return { kind: "packs", packs, paths: placed.map(({ file }) => file.path), hashes, numbers };
}

export interface StageTools {
  readonly disk: Disk;
  /** The folder that contains all paths. */
  readonly fs: ConfinedFs;
  readonly packs: PackReader;
}

/** Writes the files of a batch. Skips a file that cannot be written, and leaves no part of it. */
export function stageBatch(tools: StageTools, batch: StageBatch): StageColumns {
  const count = batch.paths.length;
  const done = new Uint8Array(count);
  const stats = newStats(count);
  for (let i = 0; i < count; i += 1) {
    const stat = tryStage(tools, batch, i);
    if (stat === undefined) continue;
    done[i] = 1;
    putStat(stats, i, stat);
  }
  tools.fs.release();
  return { done, stats };
}

export function newStats(count: number): BigInt64Array {
  return new BigInt64Array(count * STAT_FIELDS);
}

export function putStat(stats: BigInt64Array, row: number, stat: FileStat): void {
  const { size, mtimeNs, ctimeNs, ino, dev, nlink, uid, mode, gid = -1 } = stat;
  stats.set(
    [BigInt(size), mtimeNs, ctimeNs, ino, dev, BigInt(nlink), BigInt(uid), BigInt(mode), BigInt(gid)],
    row * STAT_FIELDS,
  );
}

function tryStage(tools: StageTools, batch: StageBatch, row: number): FileStat | undefined {
  try {
    return stageOne(tools, batch, row);
  } catch (error) {
    // The caller then writes the file itself, gets the same error, and can explain it.
    if (errnoOf(error) !== undefined || error instanceof ChronicleError) return undefined;
    throw error;
  }
}

function stageOne(
  { disk, fs, packs }: StageTools,
  { paths, hashes, numbers }: StageBatch,
  row: number,
): FileStat | undefined {
  const [pack = 0, block = 0, blockBytes = 0, at = 0, length = 0, mode = 0, mtimeMs = Number.NaN, mtimeRestNs = 0] =
    numbers.subarray(row * NUMBERS, (row + 1) * NUMBERS);
  const hash = hashFromBytes(hashes.subarray(row * 32, row * 32 + 32));
  const content = packs.look(hash, { kind: "pack", pack, block, blockBytes, at, length, stored: 0 });
  if (content === undefined) return undefined;
  const path = (paths[row] ?? "") as WorkspacePath;
  using file = fs.create(path, mode);
  try {
    if (content.length > 0) fs.write(file, content);
    if (!Number.isNaN(mtimeMs)) disk.setMtime(file.fd, timeNsOf({ mtimeMs, mtimeRestNs }));
    return withMode(disk, file, mode);
  } catch (error) {
    fs.unlink(path);
    throw error;
  }
}

/** Returns the stat of the file in a row; `undefined` if the file was not written. */
export function statOfStaged({ done, stats }: StageColumns, row: number): FileStat | undefined {
  if (done[row] !== 1) return undefined;
  const [size = 0n, mtimeNs = 0n, ctimeNs = 0n, ino = 0n, dev = 0n, nlink = 0n, uid = 0n, mode = 0n, gid = 0n] =
    stats.subarray(row * STAT_FIELDS, (row + 1) * STAT_FIELDS);
  return {
    kind: "file",
    mode: Number(mode),
    size: Number(size),
    mtimeNs,
    ctimeNs,
    ino: BigInt.asUintN(64, ino),
    dev: BigInt.asUintN(64, dev),
    nlink: Number(nlink),
    uid: Number(uid),
    gid: Number(gid),
  };
}
