/** The clock of a conversation. A simulation brings its own. */
export interface Timers {
  /** Runs something once, so many milliseconds from now, unless it is disposed of before. */
  after(ms: number, run: () => void): Disposable;
}

/** The timers of the platform; they keep no process alive. */
export const NODE_TIMERS: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms);
    timer.unref();
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
