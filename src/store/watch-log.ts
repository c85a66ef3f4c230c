import { basename } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk, DiskWatch } from "../disk/disk.ts";
import { folderOf } from "../disk/write-fully.ts";
import type { Timers } from "../util/timers.ts";

/** How often a log is looked at where nothing tells of it, in ms; where something does, that may have been lost. */
const LOOK_MS = 50;
const LOOK_AGAIN_MS = 1_000;

/**
 * Tells when a log may have grown, whoever writes it: by the system's events on its folder, where it has them, else by
 * looking. Ends when it is disposed of.
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

/** Whose clock it is, and who is told. */
export interface WatchLogOptions {
  readonly timers: Timers;
  readonly onGrown: () => void;
}

/** `undefined` where the system has no events, or none to spare. */
function watchFolderOf(disk: Disk, log: string, onEvent: () => void): DiskWatch | undefined {
  const own = Buffer.from(basename(log));
  try {
    // The index lies beside it, and is written as often.
    return disk.watchFolder(folderOf(log), (name) => {
      if (name === undefined || name.equals(own)) onEvent();
    });
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** What changes with each append, and with each compaction. */
function stateOf(disk: Disk, log: string): string {
  const stat = disk.lstat(log);
  return stat === undefined ? "" : `${stat.ino} ${stat.size}`;
}
