import { basename } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk, DiskWatch } from "../disk/disk.ts";
import { folderOf } from "../disk/write-fully.ts";
import type { Timers } from "../util/timers.ts";

/**
 * The time between two checks of a log, in ms: without events of the system, and with them, as an event may have been
 * lost.
 */
const LOOK_MS = 50;
const LOOK_AGAIN_MS = 1_000;

/**
 * Calls back when a log may have grown, whichever process writes it: by the system's events on its folder, if it has
 * them, else by polling. Ends when it is disposed of.
 */
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

/** The clock, and the callback. */
export interface WatchLogOptions {
  readonly timers: Timers;
  readonly onGrown: () => void;
}

/** Returns `undefined` if the system has no events, or none to spare. */
function watchFolderOf(disk: Disk, log: string, onEvent: () => void): DiskWatch | undefined {
  const own = Buffer.from(basename(log));
  try {
    // The index lies in the same folder, and is written as often.
    return disk.watchFolder(folderOf(log), (name) => {
      if (name === undefined || name.equals(own)) onEvent();
    });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Returns a string that changes with each append, and with each compaction. */
function stateOf(disk: Disk, log: string): string {
  const stat = disk.lstat(log);
  return stat === undefined ? "" : `${stat.ino} ${stat.size}`;
}
