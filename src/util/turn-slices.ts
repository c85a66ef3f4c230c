/**
 * Shares one event loop among many tasks: a fixed number of steps is done per turn of the loop, whoever does them, and
 * the rest wait for the next turn, first come, first served. Otherwise a hundred tasks that each work until their
 * sockets are full would make a turn so long that tasks which need several turns get nowhere.
 */
export class TurnSlices {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  #left: number;
  #isResetting = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
    this.#left = perTurn;
  }

  /** Resolves when the next step may be done. */
  async step(): Promise<void> {
    if (this.#left > 0 && this.#waiting.length === 0) {
      this.#left -= 1;
      this.#resetLater();
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      this.#resetLater();
    });
  }

  #resetLater(): void {
    if (this.#isResetting) return;
    this.#isResetting = true;
    setImmediate(() => {
      this.#isResetting = false;
      const next = this.#waiting.splice(0, this.#perTurn);
      this.#left = this.#perTurn - next.length;
      for (const resolve of next) resolve();
      if (next.length > 0) this.#resetLater();
    });
  }
}
