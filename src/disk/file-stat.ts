import { type BigIntStats, constants as C } from "node:fs";
import { keptTime } from "../core/values/entry.ts";
import type { FileStat, NodeKind } from "./disk.ts";

/** Converts the result of Node's `stat` calls to a `FileStat`. */
export function fileStat(stats: BigIntStats): FileStat {
  const mode = Number(stats.mode);
  return {
    kind: kindOfMode(mode & C.S_IFMT),
    mode: mode & 0o7777,
    size: Number(stats.size),
    mtimeNs: keptTime(stats.mtimeNs),
    ctimeNs: keptTime(stats.ctimeNs),
    ino: unsigned(stats.ino),
    dev: unsigned(stats.dev),
    nlink: Number(stats.nlink),
    uid: Number(stats.uid),
    gid: Number(stats.gid),
  };
}

/**
 * Converts the number of an inode or device, which Node returns as a signed integer, to the unsigned number. Numbers of
 * 2^63 and more occur on file systems that combine other file systems, such as overlays.
 */
function unsigned(number: bigint): bigint {
  return number < 0n ? BigInt.asUintN(64, number) : number;
}

function kindOfMode(format: number): NodeKind {
  if (format === C.S_IFREG) return "file";
  if (format === C.S_IFDIR) return "dir";
  return format === C.S_IFLNK ? "symlink" : "special";
}
