import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { FileStat } from "../disk/disk.ts";
import { filePieces } from "../disk/file-pieces.ts";
import { makeMissingFolders } from "../disk/make-folders.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { removeTree } from "../disk/remove-tree.ts";
import { uniqueMark, writeFileDurably, writeFully } from "../disk/write-fully.ts";

/**
 * Reads a file to its end and ignores its reported size, because some disks report 0 for a file that is not empty. The
 * path must be absolute, and links are followed. Throws the errors of `filePieces`.
 */
export function readWholeFile(path: string): Buffer {
  return Buffer.concat([...filePieces(new NodeDisk(), path)]);
}

/**
 * Returns the stat of the file at an absolute path; for a link, the stat of its target, because a link has no
 * permissions of its own. Returns `undefined` if nothing is at the path, or only a link without a target.
 */
export function statBehindLink(path: string): FileStat | undefined {
  const disk = new NodeDisk();
  const stat = disk.lstat(path);
  if (stat?.kind !== "symlink") return stat;
  try {
    return disk.lstat(disk.realpath(path));
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP"].includes(errnoOf(error) ?? "")) return undefined;
    throw error;
  }
}

/** Returns true if anything is at an absolute path, including a link without a target. */
export function isThere(path: string): boolean {
  return new NodeDisk().lstat(path) !== undefined;
}

/** Returns true if an empty folder is at an absolute path. A link to a folder does not count. */
export function isEmptyFolder(path: string): boolean {
  const disk = new NodeDisk();
  return disk.lstat(path)?.kind === "dir" && disk.list(path).length === 0;
}

/** Returns true if a symbolic link is at an absolute path. */
export function isLink(path: string): boolean {
  return new NodeDisk().lstat(path)?.kind === "symlink";
}

/**
 * Writes a whole file at an absolute path. A new file with the mode 0o644 replaces the old one, so that a reader sees
 * either the old or the new content. A device or pipe at the path is written to, and not replaced by a file. Throws
 * system errors. Throws `EISDIR` for a folder. Throws `ELOOP` for a link, because somebody else may have chosen its
 * target.
 */
export function writeWholeFile(path: string, content: string | Uint8Array): void {
  const disk = new NodeDisk();
  if (isSpecial(disk, path)) writeInto(disk, path, Buffer.from(content));
  else writeFileDurably(disk, path, Buffer.from(content), { mode: 0o644, mark: uniqueMark() });
}

/**
 * Checks that `writeWholeFile` can write a path: makes a file beside the path, and removes it. Throws the errors of
 * `writeWholeFile`. For a device or pipe, only the permissions are checked.
 */
export function checkWritable(path: string): void {
  const disk = new NodeDisk();
  if (isSpecial(disk, path)) return disk.checkWrite(path);
  const trial = `${path}.${process.pid}.tmp`;
  disk.close(disk.open(trial, "create", 0o600));
  disk.unlink(trial);
}

/** True for a device, a pipe or a socket. Throws `ELOOP` for a link, and `EISDIR` for a folder. */
function isSpecial(disk: NodeDisk, path: string): boolean {
  const kind = disk.lstat(path)?.kind;
  if (kind === "symlink") throw Object.assign(new Error("ELOOP: a link"), { code: "ELOOP" });
  if (kind === "dir") throw Object.assign(new Error("EISDIR: a folder"), { code: "EISDIR" });
  return kind === "special";
}

function writeInto(disk: NodeDisk, path: string, bytes: Uint8Array): void {
  const fd = disk.open(path, "append");
  try {
    writeFully(disk, fd, bytes, null);
  } finally {
    disk.close(fd);
  }
}

/**
 * Returns the text of a file; `undefined` if there is no such file. Bytes that are not UTF-8 become U+FFFD; with
 * `exactly`, they cause a `TypeError`. Throws system errors.
 */
export function readTextIfThere(path: string, how?: "exactly"): string | undefined {
  try {
    const bytes = readWholeFile(path);
    if (how === undefined) return bytes.toString("utf8");
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

/**
 * Writes a file of the user's configuration. A reader sees either the old or the new content. If the path is a link,
 * the link's target is replaced, and the link stays. The mode stays the same; a new file gets `mode` (default: 0o644).
 * Missing folders are made. Throws system errors.
 */
export function replaceUserFile(path: string, text: string, mode = 0o644): void {
  const disk = new NodeDisk();
  const isThere = disk.lstat(path) !== undefined;
  if (!isThere) makeMissingFolders(disk, dirname(path), 0o755);
  const real = isThere ? disk.realpath(path) : path;
  writeFileDurably(disk, real, Buffer.from(text), { mode: disk.lstat(real)?.mode ?? mode, mark: uniqueMark() });
}

/** Removes a file, or a link but not its target. Throws system errors. */
export function removeUserFile(path: string): void {
  new NodeDisk().unlink(path);
}

/**
 * Makes a folder that only the user can use (mode 0o700), in the system's folder for temporary files. Returns its path
 * with links resolved. Throws system errors; `EEXIST` if the name is taken.
 */
export function makeEmptyFolder(name: string): string {
  const disk = new NodeDisk();
  const path = join(disk.realpath(tmpdir()), name);
  disk.makeFolder(path, 0o700);
  return path;
}

/** Removes an empty folder. Throws system errors, such as `ENOTEMPTY`. */
export function removeEmptyFolder(path: string): void {
  new NodeDisk().removeFolder(path);
}

/** Removes a folder with everything in it, and follows no links. Throws system errors. */
export function removeWholeFolder(path: string): void {
  removeTree(new NodeDisk(), path);
}

/** Makes a symbolic link. Throws system errors, such as `EEXIST` and `ENOENT` for a missing folder above the link. */
export function makeLink(target: string, path: string): void {
  new NodeDisk().symlink(Buffer.from(target), path);
}

/** Makes a folder and the missing folders above it, unless something is at the path. Throws system errors. */
export function makeFolder(path: string): void {
  makeMissingFolders(new NodeDisk(), path, 0o755);
}
