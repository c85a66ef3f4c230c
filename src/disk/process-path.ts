import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";

/** The maximum number of links that are followed, which is the system's limit. */
const MOST_LINKS = 40;
/** Matches paths that each process sees differently: `self`, process numbers, open files (proc(5), fd(4)). */
const OF_PROCESSES = /^\/(?:proc|dev\/fd)(?:\/|$)/;

/**
 * Returns the path in `/proc` or `/dev/fd` to which an absolute path leads, directly or through a link. Returns
 * `undefined` if the absolute path leads to neither folder, or through too many links. A path in these folders means a
 * different file in each process. Therefore, this process never resolves such a path for another process.
 */
export function processPath(disk: Disk, absolute: string): string | undefined {
  let rest = partsOf(absolute);
  let at = "/";
  for (let links = 0; ;) {
    if (OF_PROCESSES.test(at)) return posix.join(at, ...rest);
    const name = rest.shift();
    if (name === undefined) return undefined;
    if (name === "..") {
      at = posix.dirname(at);
      continue;
    }
    const next = posix.join(at, name);
    // A link in `/proc` or `/dev/fd` is not read, because the result is known already.
    const target = OF_PROCESSES.test(next) ? undefined : targetOf(disk, next);
    if (target === undefined) at = next;
    else {
      if ((links += 1) > MOST_LINKS) return undefined;
      rest = [...partsOf(target), ...rest];
      if (target.startsWith("/")) at = "/";
    }
  }
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}

function targetOf(disk: Disk, path: string): string | undefined {
  try {
    if (disk.lstat(path)?.kind !== "symlink") return undefined;
    const bytes = disk.readlink(path);
    return isUtf8(bytes) ? bytes.toString("utf8") : undefined;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
