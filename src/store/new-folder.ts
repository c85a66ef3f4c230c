import { folderOf, writeFully } from "../disk/write-fully.ts";
import type { Disk } from "../disk/disk.ts";
import type { BackupFile, NewFolder } from "../engine/log/ledger.ts";
import { makeFolders } from "./file-head-keeper.ts";
import { removeTree } from "../disk/remove-tree.ts";
import { wholePath } from "../core/tree/root-place.ts";

/**
 * Returns a function that writes files into a new folder. The function appends a counter to a name that is taken.
 * Folders get mode 0700, and files mode 0600.
 */
export function newFolders(disk: Disk): NewFolder {
  return async (given, stem, files) => {
    const parent = wholePath("the folder", given);
    makeFolders(disk, parent);
    for (let count = 1; ; count += 1) {
      const path = `${parent}/${count === 1 ? stem : `${stem}.${count}`}`;
      if (disk.lstat(path) === undefined) return await fill(disk, path, files);
    }
  };
}

async function fill(disk: Disk, path: string, files: readonly BackupFile[]): Promise<string> {
  const fresh = `${path}.new`;
  if (disk.lstat(fresh) !== undefined) removeTree(disk, fresh);
  disk.makeFolder(fresh, 0o700);
  for (const one of files) await copy(disk, `${fresh}/${one.name}`, one);
  disk.syncFolder(fresh);
  disk.rename(fresh, path);
  disk.syncFolder(folderOf(path));
  return path;
}

async function copy(disk: Disk, path: string, file: BackupFile): Promise<void> {
  makeFolders(disk, String(folderOf(path)));
  const fd = disk.open(path, "create", 0o600);
  try {
    for await (const piece of file.pieces()) writeFully(disk, fd, piece, null);
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  disk.syncFolder(folderOf(path));
}
