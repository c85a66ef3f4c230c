import { readFileSync } from "node:fs";
import { leastOf } from "../util/long-lists.ts";
import type { WatchUse } from "./disk.ts";

/** The files with the limits on the watches of a user: the limit of the system, and the limit of the user namespace. */
const LIMIT_FILES = ["/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"];

/** Counts the open watches of this process. */
class WatchCount {
  #open = 0;
  #most: number | undefined;

  open(): void {
    this.#open += 1;
  }

  close(): void {
    this.#open -= 1;
  }

  get use(): WatchUse {
    this.#most ??= Math.floor(leastOf(LIMIT_FILES.map(limitIn)) / 2);
    return { open: this.#open, most: this.#most };
  }
}

function limitIn(file: string): number {
  try {
    const limit = Number.parseInt(readFileSync(file, "latin1"), 10);
    return Number.isNaN(limit) ? Infinity : limit;
  } catch {
    // The system has no such file, or forbids reading it.
    return Infinity;
  }
}

export const watchCount = new WatchCount();
