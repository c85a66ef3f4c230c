import type { Disk } from "../../disk/disk.ts";
import { errnoOf } from "../../core/values/errors.ts";

/** The most names that are read: an agent's folder may hold years of sessions. */
const MOST = 20_000;
const DEEPEST = 5;

/**
 * Returns the time at which an agent last wrote to one of its sessions, in epoch milliseconds; `undefined` if there is
 * none.
 */
export function newestTrace(disk: Disk, folder: string): number | undefined {
  let left = MOST;
  let newest: number | undefined;
  const look = (at: string, depth: number): void => {
    for (const { name, kind } of listOrNothing(disk, at)) {
      if ((left -= 1) < 0) return;
      const path = `${at}/${name.toString()}`;
      if (kind === "dir" && depth < DEEPEST) look(path, depth + 1);
      if (kind !== "file" || !/\.jsonl?$/.test(path)) continue;
      const time = Number((disk.lstat(path)?.mtimeNs ?? 0n) / 1_000_000n);
      newest = Math.max(newest ?? 0, time);
    }
  };
  look(folder, 0);
  return newest;
}

function listOrNothing(disk: Disk, folder: string): ReturnType<Disk["list"]> {
  try {
    return disk.list(folder);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [];
  }
}
