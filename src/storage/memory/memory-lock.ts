import { ChronicleError } from "../../core/values/errors.ts";
import { TurnQueue } from "../../util/turn-queue.ts";
import type { HeldLock, Lock } from "../lock.ts";

/** A lock for the callers of one process. Locks with the same queue exclude one another. */
export class MemoryLock implements Lock {
  readonly #queue: TurnQueue;
  readonly #name: string;
  readonly #held = new Set<HeldLock>();
  #closed = false;

  constructor(queue: TurnQueue = new TurnQueue(), name = "the lock") {
    this.#queue = queue;
    this.#name = name;
  }

  exclusive(waitMs: number): Promise<HeldLock> {
    return this.#hold(true, waitMs);
  }

  shared(waitMs: number): Promise<HeldLock> {
    return this.#hold(false, waitMs);
  }

  close(): void {
    this.#closed = true;
    for (const held of this.#held) held.release();
  }

  async #hold(exclusive: boolean, waitMs: number): Promise<HeldLock> {
    if (this.#closed) throw new ChronicleError("IO", `${this.#name} has been closed`);
    const leave = await this.#queue.enter(exclusive, waitMs);
    if (leave === undefined) {
      throw new ChronicleError("LOCKED", `${this.#name} is held within this process`, {
        hint: "wait for the running operation to end, or allow a longer wait",
      });
    }
    const release = (): void => {
      leave();
      this.#held.delete(held);
    };
    const held: HeldLock = { release, [Symbol.dispose]: release };
    this.#held.add(held);
    if (this.#closed) {
      release();
      throw new ChronicleError("IO", `${this.#name} was closed while it was waited for`);
    }
    return held;
  }
}

/** Returns a maker of locks for stores on a simulated disk. Two locks of the same path exclude one another. */
export function memoryLocks(): (path: string) => Lock {
  const queues = new Map<string, TurnQueue>();
  return (path) => {
    const queue = queues.get(path) ?? new TurnQueue();
    queues.set(path, queue);
    return new MemoryLock(queue, path);
  };
}
