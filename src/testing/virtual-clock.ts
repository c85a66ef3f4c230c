import type { Timers } from "../util/timers.ts";

interface Due {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Before the time advances, the event loop runs this many turns, so that promises and other work without timers can
 * finish.
 */
const TURNS = 6;

/** Number of timers run without progress of time after which a simulation counts as endless. */
const MOST_AT_ONCE = 20_000;

/** A clock that only advances when told to: nothing in a simulation waits for real time. */
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

  /** Like `after`, but without a handle to cancel it: for the option `later` of a memory link. */
  readonly later = (ms: number, run: () => void): void => {
    this.after(ms, run);
  };

  /** Resolves after this many milliseconds. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /**
   * Advances until `isDone` (returns true) or until `untilMs` (returns false). Throws if more and more timers run at
   * the same time, so that the time never advances.
   */
  async run(untilMs: number, isDone: () => boolean = () => false): Promise<boolean> {
    for (let atOnce = 0; atOnce < MOST_AT_ONCE;) {
      for (let turn = 0; turn < TURNS; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      if (isDone()) return true;
      const next = this.#next();
      if (next === undefined || next.at > untilMs) {
        this.#now = untilMs;
        return false;
      }
      this.#due.delete(next);
      atOnce = next.at > this.#now ? 0 : atOnce + 1;
      this.#now = next.at;
      next.run();
    }
    throw new Error(
      `the time does not advance beyond ${this.#now} ms: timers without delay start further ones endlessly`,
    );
  }

  #next(): Due | undefined {
    let first: Due | undefined;
    for (const due of this.#due) {
      if (first === undefined || due.at < first.at || (due.at === first.at && due.order < first.order)) first = due;
    }
    return first;
  }
}
