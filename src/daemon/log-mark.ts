import { join } from "node:path";
import type { Disk, FileStat } from "../disk/disk.ts";

/** The location of the workspaces on this machine. */
export interface StorePlace {
  readonly disk: Disk;
  readonly home: string;
}

/** A workspace's log; `undefined` if its history has not begun, or was removed. */
export function logOf({ disk, home }: StorePlace, id: string): FileStat | undefined {
  const stat = disk.lstat(join(home, "workspaces", id, "events.wal"));
  return stat === undefined || stat.size === 0 ? undefined : stat;
}

/** A mark that changes with each event of a workspace, and when its history is removed or begun. */
export function logMark(place: StorePlace, id: string): string {
  const stat = logOf(place, id);
  return stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs}`;
}
