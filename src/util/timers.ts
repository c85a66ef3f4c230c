/** A source of timers. A simulation provides its own. */
export interface Timers {
  /** The milliseconds since a fixed but unknown moment, to measure durations. The value never decreases. */
  readonly now: number;
  /** Calls `run` once after `ms` milliseconds. Disposing of the result before then cancels the call. */
  after(ms: number, run: () => void): Disposable;
}

/** The timers of Node.js. They do not keep the process alive. */
export const NODE_TIMERS: Timers = nodeTimers({ isLasting: false });

/** The timers of Node.js. They keep the process alive until they have run or were disposed of. */
export const LASTING_TIMERS: Timers = nodeTimers({ isLasting: true });

function nodeTimers({ isLasting }: { readonly isLasting: boolean }): Timers {
  return {
    get now() {
      return performance.now();
    },
    after(ms, run) {
      const timer = setTimeout(run, ms);
      if (!isLasting) timer.unref();
      return { [Symbol.dispose]: () => clearTimeout(timer) };
    },
  };
}

/** The longest delay of a timer in Node.js, in ms. */
const LONGEST_MS = 2 ** 31 - 1;

/** Keeps this process alive until the result is disposed of, even if nothing else is pending. */
export function keepAlive(): Disposable {
  const timer = setInterval(() => undefined, LONGEST_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
