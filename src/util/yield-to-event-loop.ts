/** Lets timers and I/O of the process run in the middle of long work. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Most items that do not count as long work. */
const FEW_ITEMS = 2_000;

/** Yields to the event loop after work on this many items, if that took long. */
export async function breatheAfter(items: number): Promise<void> {
  if (items > FEW_ITEMS) await yieldToEventLoop();
}

/** Items of long work after which others get a turn. */
const BREATH_ITEMS = 4_096;

/** Counts the items of long work that comes in pieces, and yields to the event loop now and then. */
export class Breather {
  #left = BREATH_ITEMS;

  /** Call after a piece of `items` items. */
  async after(items: number): Promise<void> {
    this.#left -= items;
    if (this.#left > 0) return;
    this.#left = BREATH_ITEMS;
    await yieldToEventLoop();
  }
}

/** Yields the same batches, and yields to the event loop now and then if there are very many items. */
export async function* withBreaths<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[], void> {
  const breather = new Breather();
  for await (const batch of batches) {
    yield batch;
    await breather.after(batch.length);
  }
}

/** Yields some items at a time, in order, and yields to the event loop between the slices. */
export async function* inSlices<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[], void> {
  for (let at = 0; at < items.length; at += size) {
    if (at > 0) await yieldToEventLoop();
    yield items.slice(at, at + size);
  }
}

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
