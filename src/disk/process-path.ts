import { isUtf8 } from "node:buffer";
import { posix } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";

/** As many links one after the other as the system follows. */
const MOST_LINKS = 40;
/** What each process sees otherwise: `self`, numbers of processes, what they have open (proc(5), fd(4)). */
const OF_PROCESSES = /^\/(?:proc|dev\/fd)(?:\/|$)/;

/**
 * The path in `/proc` or `/dev/fd` to which an absolute path leads, by itself or by a link on the way; `undefined`: to none. Such a
 * path means another file in each process, so one that comes from elsewhere is never resolved here.
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
    // The name itself is enough: nothing in there is looked at.
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

/** The target of a link; `undefined` where there is none, or one that cannot be told. */
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
