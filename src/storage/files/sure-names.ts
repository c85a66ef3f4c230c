import type { Disk } from "../../disk/disk.ts";
import { folderOf, readFully, writeFully } from "../../disk/write-fully.ts";
import { withTrouble } from "../io-trouble.ts";
import type { BlobLayout } from "../layout.ts";

const COPY_BYTES = 1024 * 1024;

/**
 * The paths of files for which a sync of their folder has failed in this process. The name of such a file may not be
 * durable, even if a later sync of the folder succeeds. Therefore, the file is written anew before anything relies on
 * the file.
 */
export type UnsureNames = Set<string>;

interface Parts {
  readonly disk: Disk;
  readonly layout: BlobLayout;
  readonly newPackId: () => string;
  readonly unsure: UnsureNames;
}

/**
 * Makes durable the names of files that were found on the disk. The caller does this before the index names the
 * contents of these files. The process that named the files may have ended before it synced the folders. The bytes are
 * durable already, because a file gets its name only after its bytes are durable. `folders`: the folders that contain
 * the files, and those of their parent folders that may be new as well.
 */
export function makeNamesSure(parts: Parts, folders: readonly string[], paths: readonly string[]): void {
  const { disk, unsure } = parts;
  if (paths.length === 0) return;
  for (const path of paths) if (unsure.has(path)) writeAnew(parts, path);
  withTrouble(`syncing ${folders.join(", ")}`, () => {
    try {
      for (const folder of folders) disk.syncFolder(folder);
    } catch (error) {
      for (const path of paths) unsure.add(path);
      throw error;
    }
  });
}

/**
 * Durably replaces a file, if it exists, by a copy of itself. Afterwards, the name is durable. The pages of the copy
 * and its entry in the folder are new, so no earlier failed sync has concerned them. If a step fails, the bytes of the
 * file are unchanged.
 */
export function writeAnew({ disk, layout, newPackId, unsure }: Parts, path: string): void {
  if (disk.lstat(path) !== undefined) {
    withTrouble(`writing ${path} anew`, () => {
      const copy = `${layout.largeTmp}/${newPackId()}`;
      copyDurably(disk, path, copy);
      disk.rename(copy, path);
      disk.syncFolder(folderOf(path));
    });
  }
  unsure.delete(path);
}

/** Overwrites bytes of a file with the same bytes, so that the next sync writes them to the disk. */
export function writeOnceMore(disk: Disk, fd: number, from: number, to: number): void {
  const piece = Buffer.allocUnsafe(Math.min(COPY_BYTES, Math.max(0, to - from)));
  for (let at = from; at < to;) {
    const count = readFully(disk, fd, piece.subarray(0, Math.min(COPY_BYTES, to - at)), at);
    if (count === 0) return;
    writeFully(disk, fd, piece.subarray(0, count), at);
    at += count;
  }
}

function copyDurably(disk: Disk, from: string, to: string): void {
  const source = disk.open(from, "read");
  try {
    const target = disk.open(to, "create", 0o600);
    try {
      const piece = Buffer.allocUnsafe(COPY_BYTES);
      for (let at = 0; ;) {
        const count = readFully(disk, source, piece, at);
        if (count === 0) break;
        writeFully(disk, target, piece.subarray(0, count), at);
        at += count;
      }
      disk.sync(target);
    } finally {
      disk.close(target);
    }
  } finally {
    disk.close(source);
  }
}
