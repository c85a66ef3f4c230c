/** The timers of a conversation. A simulation provides its own. */
export interface Timers {
  /** Runs something once after `ms` milliseconds, unless it is disposed of before. */
  after(ms: number, run: () => void): Disposable;
}

/** The platform's timers; they keep no process alive. */
export const NODE_TIMERS: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};

/** Longest delay of a timer. */
const LONGEST_MS = 2 ** 31 - 1;

/** Keeps this process from exiting by itself until disposed of, even if nothing else is pending. */
export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, LONGEST_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
