import { createHash } from "node:crypto";
import { errnoOf } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { readFully, writeFully } from "../../disk/write-fully.ts";
import type { LargeRow } from "../blob-index.ts";
import { compress } from "../block.ts";
import { encodeLargeHeader, encodePiece, LARGE_HEADER_BYTES, PIECE_BYTES } from "../large-format.ts";
import type { BlobLayout } from "../layout.ts";

/** The number of pieces at the beginning of a content that are compressed to decide whether compression pays. */
const SAMPLE_PIECES = 8;

/** The number of bytes between two syncs of a file that is synced as it grows. */
const SYNC_BYTES = 32 * 1024 * 1024;

/**
 * Runs a sync. If the sync fails, poisons the store. `name`: the file whose name the sync of a folder makes durable. If
 * the sync of that folder fails, the name is recorded as unsure (`UnsureNames`).
 */
export type SyncGuard = (sync: () => void, name?: string) => void;

/** A large content in a temporary file, complete and synced. */
export interface LargeTemp {
  readonly path: string;
  readonly row: LargeRow;
}

/**
 * Writes one large content, piece by piece, to a temporary file. The file is a container if compressing the first 8 MiB
 * saves at least 5%; otherwise, it is raw. Needs about 16 MiB of memory.
 */
export class LargeWriter {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #fd: number;
  readonly #digest = createHash("sha256");
  readonly #piece = Buffer.allocUnsafe(PIECE_BYTES);
  #inPiece = 0;
  #length = 0;
  #position = 0;
  readonly #syncNow: SyncGuard | undefined;
  #syncedUpTo = 0;
  #packed: boolean | undefined;
  #sample: { readonly raw: Buffer; readonly frame: Buffer | undefined }[] = [];

  /** With `syncNow`, the file is synced as it grows, because one long sync would block the process. */
  constructor(disk: Disk, path: string, syncNow?: SyncGuard) {
    this.#disk = disk;
    this.#path = path;
    this.#syncNow = syncNow;
    this.#fd = disk.open(path, "create", 0o600);
  }

  add(bytes: Uint8Array): void {
    this.#digest.update(bytes);
    this.#length += bytes.length;
    for (let from = 0; from < bytes.length;) {
      const count = Math.min(bytes.length - from, PIECE_BYTES - this.#inPiece);
      this.#piece.set(bytes.subarray(from, from + count), this.#inPiece);
      this.#inPiece += count;
      from += count;
      if (this.#inPiece === PIECE_BYTES) this.#endPiece();
    }
  }

  /** Completes and syncs the file, which keeps its temporary name. */
  finish(guard: SyncGuard): LargeTemp {
    this.#endPiece();
    if (this.#packed === undefined) this.#decide();
    const hash = this.#digest.digest("hex") as Hash;
    const packed = this.#packed === true;
    if (packed) writeFully(this.#disk, this.#fd, encodeLargeHeader({ hash, length: this.#length }), 0);
    guard(() => this.#disk.sync(this.#fd));
    this.#disk.close(this.#fd);
    return { path: this.#path, row: { hash, packed, length: this.#length, stored: this.#position } };
  }

  /** Closes and removes the file. If that fails, the collector removes the file later. */
  abandon(): void {
    try {
      this.#disk.close(this.#fd);
      this.#disk.unlink(this.#path);
    } catch {
      // `abandon` is called after another failure, and that failure is reported.
    }
  }

  #endPiece(): void {
    if (this.#inPiece === 0) return;
    const raw = this.#piece.subarray(0, this.#inPiece);
    this.#inPiece = 0;
    if (this.#packed === false) return this.#write(raw);
    const frame = compress(raw);
    if (this.#packed === true) return this.#write(encodePiece(raw.length, frame ?? raw));
    this.#sample.push({ raw: Buffer.from(raw), frame });
    if (this.#sample.length === SAMPLE_PIECES) this.#decide();
  }

  #decide(): void {
    const sample = this.#sample;
    this.#sample = [];
    const rawBytes = sample.reduce((sum, { raw }) => sum + raw.length, 0);
    const packedBytes = sample.reduce((sum, { raw, frame }) => sum + (frame ?? raw).length, 0);
    this.#packed = packedBytes <= rawBytes * 0.95;
    if (this.#packed) this.#position = LARGE_HEADER_BYTES;
    for (const { raw, frame } of sample) this.#write(this.#packed ? encodePiece(raw.length, frame ?? raw) : raw);
  }

  #write(bytes: Uint8Array): void {
    writeFully(this.#disk, this.#fd, bytes, this.#position);
    this.#position += bytes.length;
    if (this.#syncNow === undefined || this.#position - this.#syncedUpTo < SYNC_BYTES) return;
    this.#syncNow(() => this.#disk.sync(this.#fd));
    this.#syncedUpTo = this.#position;
  }
}

export function writeContainer(disk: Disk, path: string, bytes: Uint8Array, guard: SyncGuard): void {
  const fd = disk.open(path, "create", 0o600);
  try {
    writeFully(disk, fd, bytes, 0);
    guard(() => disk.sync(fd));
  } finally {
    disk.close(fd);
  }
}

/**
 * Clones a file. Hashes the clone instead of the original, because the original may change meanwhile. Returns
 * `undefined` if the file system cannot clone.
 */
export function cloneLarge(disk: Disk, from: string, path: string, guard: SyncGuard): LargeTemp | undefined {
  if (!disk.clone(from, path)) return undefined;
  const fd = disk.open(path, "update");
  try {
    disk.chmod(fd, 0o600);
    const digest = createHash("sha256");
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    let length = 0;
    for (;;) {
      const count = readFully(disk, fd, piece, length);
      if (count === 0) break;
      digest.update(piece.subarray(0, count));
      length += count;
    }
    guard(() => disk.sync(fd));
    const hash = digest.digest("hex") as Hash;
    return { path, row: { hash, packed: false, length, stored: length } };
  } finally {
    disk.close(fd);
  }
}

/**
 * Moves a finished file into place, durably. Replaces any file that is already in that place: an equal copy or a
 * damaged file.
 */
export function landLarge(disk: Disk, layout: BlobLayout, { path, row }: LargeTemp, guard: SyncGuard): void {
  const folder = layout.largeFolder(row.hash);
  const place = row.packed ? layout.largePacked(row.hash) : layout.largeRaw(row.hash);
  makeFolderOnce(disk, folder);
  // Another writer may have made this folder without having synced the folder's name yet. The sync is therefore
  // necessary even if the folder already existed.
  guard(() => syncOrRemove(disk, layout.large, folder));
  disk.rename(path, place);
  guard(() => disk.syncFolder(folder), place);
}

/**
 * Syncs the folder `above`. If the sync fails, removes `folder` if it is empty, so that the next writer makes it anew.
 */
function syncOrRemove(disk: Disk, above: string, folder: string): void {
  try {
    disk.syncFolder(above);
  } catch (error) {
    try {
      disk.removeFolder(folder);
    } catch {
      // The folder stays because it is not empty. Its files are durable, so an earlier sync has also made the folder's
      // name durable.
    }
    throw error;
  }
}

/** Makes a folder (mode 0700), unless it exists. */
export function makeFolderOnce(disk: Disk, path: string): void {
  if (disk.lstat(path) !== undefined) return;
  try {
    disk.makeFolder(path, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}
