import type { Timers } from "../replication/timers.ts";

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** Turns of the event loop that work without a timer gets before the time goes on. */
const TURNS = 4;

/** A clock that only goes when it is told to: nothing in a simulation waits for real time. */
export class VirtualClock implements Timers {
  readonly #due = new Set<Due>();
  #now = 0;
  #order = 0;

  /** Milliseconds since the simulation began. */
  get now(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): Disposable {
    const due = { at: this.#now + ms, order: this.#order++, run };
    this.#due.add(due);
    return { [Symbol.dispose]: () => void this.#due.delete(due) };
  }

  /** As `after`, for a network. */
  readonly later = (ms: number, run: () => void): void => {
    this.after(ms, run);
  };

  /** Resolves when so many milliseconds have passed. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Goes on until `isDone`, or until `untilMs`: false then. */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<boolean> {
    for (;;) {
      for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      if (isDone()) return true;
      const next = this.#next();
      if (next === undefined || next.at > untilMs) {
        this.#now = untilMs;
        return false;
      }
      this.#due.delete(next);
      this.#now = next.at;
      next.run();
    }
  }

  #next(): Due | undefined {
    let first: Due | undefined;
    for (const due of this.#due) {
      if (first === undefined || due.at < first.at || (due.at === first.at && due.order < first.order)) first = due;
    }
    return first;
  }
}
