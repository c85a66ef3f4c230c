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
