import { createHash } from "node:crypto";
import { ChronicleError } from "../../core/values/errors.ts";
import { parseHash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { folderOf, readFully, writeFully } from "../../disk/write-fully.ts";
import type { LogPosition, QuarantinedPart } from "../event-log.ts";

const CHUNK_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;

export interface FileTail {
  readonly fd: number;
  readonly from: LogPosition;
  readonly size: number;
}

/** Throws `USAGE` unless a line of the log begins at the position `tail.from`, before the end of the file. */
export function checkCut(disk: Disk, tail: FileTail): void {
  const { offset } = tail.from;
  const before = Buffer.alloc(1);
  if (offset > 0) readFully(disk, tail.fd, before, offset - 1);
  if (offset >= 0 && offset < tail.size && (offset === 0 || before[0] === NEWLINE)) return;
  throw new ChronicleError("USAGE", `no line of the log begins at byte ${offset}`, { data: { ...tail.from } });
}

/**
 * Copies the tail into a new file in the folder, durably. Returns the file's name: `<seq>-<offset>.part`, with a
 * counter if that name is taken. During the copying, the file is named `….part.new`, so a crash can leave a file of
 * that name.
 */
export function keepTail(disk: Disk, folder: string, tail: FileTail): string {
  makeFolderDurably(disk, folder);
  const name = freeName(disk, folder, `${String(tail.from.seq).padStart(16, "0")}-${tail.from.offset}`);
  const path = `${folder}/${name}`;
  const fresh = `${path}.new`;
  if (disk.lstat(fresh) !== undefined) disk.unlink(fresh);
  const fd = disk.open(fresh, "create", 0o600);
  try {
    copyBytes(disk, tail, fd);
    disk.sync(fd);
  } finally {
    disk.close(fd);
  }
  disk.rename(fresh, path);
  disk.syncFolder(folder);
  return name;
}

/** Returns the length and the hash of a part in quarantine; `undefined` if there is no such file. */
export function readPart(disk: Disk, path: string): QuarantinedPart | undefined {
  if (disk.lstat(path)?.kind !== "file") return undefined;
  const fd = disk.open(path, "read");
  try {
    const digest = createHash("sha256");
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let bytes = 0;
    for (let count = readFully(disk, fd, chunk, 0); count > 0; count = readFully(disk, fd, chunk, bytes)) {
      digest.update(chunk.subarray(0, count));
      bytes += count;
    }
    return { bytes, hash: parseHash(digest.digest("hex")) };
  } finally {
    disk.close(fd);
  }
}

/** Makes a folder (mode 0700) unless it exists, and makes its name durable. */
export function makeFolderDurably(disk: Disk, folder: string): void {
  if (disk.lstat(folder) === undefined) disk.makeFolder(folder, 0o700);
  disk.syncFolder(folderOf(folder));
}

function freeName(disk: Disk, folder: string, stem: string): string {
  for (let count = 1; ; count += 1) {
    const name = count === 1 ? `${stem}.part` : `${stem}.${count}.part`;
    if (disk.lstat(`${folder}/${name}`) === undefined) return name;
  }
}

function copyBytes(disk: Disk, tail: FileTail, to: number): void {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  for (let at = tail.from.offset; at < tail.size;) {
    const count = readFully(disk, tail.fd, chunk.subarray(0, Math.min(CHUNK_BYTES, tail.size - at)), at);
    if (count === 0) throw new ChronicleError("IO", `the log ended at byte ${at} while its tail was being copied`);
    writeFully(disk, to, chunk.subarray(0, count), null);
    at += count;
  }
}
