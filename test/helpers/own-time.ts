/**
 * Measures the time that passes for this process: the CPU time that it uses, and the time that it waits. The time in
 * which a busy machine runs other processes instead hardly counts. On an idle machine, the result is close to the
 * elapsed time. It exceeds the elapsed time by the CPU time at most.
 */
export class OwnTime implements Disposable {
  #ticks = 0;
  readonly #cpu = process.cpuUsage();
  // Node does not make up for late ticks, so each tick stands for a millisecond or more.
  readonly #timer = setInterval(() => (this.#ticks += 1), 1);

  /** Milliseconds since the beginning. */
  get ms(): number {
    const { user, system } = process.cpuUsage(this.#cpu);
    return this.#ticks + (user + system) / 1_000;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
