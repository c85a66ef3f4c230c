import { basename } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk, DiskWatch } from "../disk/disk.ts";
import { folderOf } from "../disk/write-fully.ts";
import type { Timers } from "../util/timers.ts";

/** The time in ms between two checks of a log if the system reports no changes of files. */
const LOOK_MS = 50;
/**
 * The time in ms between two checks of a log if the system reports changes of files. Checks are needed, because a
 * report may be lost.
 */
const LOOK_AGAIN_MS = 1_000;

/** Calls `onGrown` after any process has appended to the log or replaced it. Disposing of the result ends the calls. */
export function watchLog(disk: Disk, log: string, { timers, onGrown }: WatchLogOptions): Disposable {
  let seen = stateOf(disk, log);
  const look = (): void => {
    const now = stateOf(disk, log);
    if (now === seen) return;
    seen = now;
    onGrown();
  };
  const watch = watchFolderOf(disk, log, look);
  const everyMs = watch === undefined ? LOOK_MS : LOOK_AGAIN_MS;
  const again = (): void => {
    look();
    next = timers.after(everyMs, again);
  };
  let next = timers.after(everyMs, again);
  return {
    [Symbol.dispose]: () => {
      next[Symbol.dispose]();
      watch?.close();
    },
  };
}

export interface WatchLogOptions {
  readonly timers: Timers;
  readonly onGrown: () => void;
}

/** Watches the folder of the log; returns `undefined` if the system cannot watch it, or has no watches left. */
function watchFolderOf(disk: Disk, log: string, onEvent: () => void): DiskWatch | undefined {
  const own = Buffer.from(basename(log));
  try {
    // Ignore changes of other files. The index is in the same folder, and is written as often as the log.
    return disk.watchFolder(folderOf(log), (name) => {
      if (name === undefined || name.equals(own)) onEvent();
    });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Returns a string that changes with each append and each compaction of the log. */
function stateOf(disk: Disk, log: string): string {
  const stat = disk.lstat(log);
  return stat === undefined ? "" : `${stat.ino} ${stat.size}`;
}
