import { readFileSync } from "node:fs";
import { Signal } from "../util/signal.ts";

const QUEUE_FILE = "/proc/sys/fs/inotify/max_queued_events";

/** The kernel's default length of the queue. */
const QUEUE_LENGTH = 16_384;

/**
 * The kernel's queue of events, which all watches of this process share. The kernel drops events if the queue is full,
 * and Node does not report this.
 *
 * Node empties the queue once in each turn of its event loop. If fewer events are reported in a turn than a full queue
 * holds, no event was dropped. However, some events are never reported: the one event that an ended watch leaves in the
 * queue (in this turn or the next), and earlier events of the ended watch. Therefore, an ended watch counts as one
 * event for two turns, and half of the queue is the limit.
 */
class WatchQueue {
  /** Emits when events may have been dropped, at most once in a turn. */
  readonly lost = new Signal<void>();
  #limit: number | undefined;
  #reported = 0;
  #ended = 0;
  #endedBefore = 0;
  #isTold = false;
  #isTurning = false;
  #losses = 0;

  /** Rises whenever events may have been dropped. */
  get losses(): number {
    return this.#losses;
  }

  noteEvent(): void {
    this.#reported += 1;
    this.#check(this.#reported);
  }

  noteEnd(): void {
    this.#ended += 1;
    this.#check(0);
  }

  #check(reported: number): void {
    if (!this.#isTurning) this.#turnLater();
    if (reported + this.#ended + this.#endedBefore < (this.#limit ??= queueLength() / 2)) return;
    // More events may be dropped while these are read, so each further event counts as a possible loss.
    this.#losses += 1;
    if (this.#isTold) return;
    this.#isTold = true;
    this.lost.emit();
  }

  #turnLater(): void {
    this.#isTurning = true;
    setImmediate(() => {
      this.#isTurning = false;
      this.#isTold = false;
      this.#reported = 0;
      this.#endedBefore = this.#ended;
      this.#ended = 0;
      if (this.#endedBefore > 0) this.#turnLater();
    });
  }
}

function queueLength(): number {
  try {
    return Number.parseInt(readFileSync(QUEUE_FILE, "latin1"), 10) || QUEUE_LENGTH;
  } catch {
    // The system has no such file, or forbids reading it.
    return QUEUE_LENGTH;
  }
}

export const watchQueue = new WatchQueue();
