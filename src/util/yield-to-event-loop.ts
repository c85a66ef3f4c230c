/** Resolves in a later turn of the event loop, so that timers and I/O can run in the middle of long work. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The maximum number of items after which no yield is needed. */
const FEW_ITEMS = 2_000;

/** Yields to the event loop after work on many items. Does nothing after work on few items. */
export async function breatheAfter(items: number): Promise<void> {
  if (items > FEW_ITEMS) await yieldToEventLoop();
}

/** The number of items between two yields of a `Breather`. */
const BREATH_ITEMS = 4_096;

/** Yields to the event loop after about every `BREATH_ITEMS` items of work that is done in pieces. */
export class Breather {
  #left = BREATH_ITEMS;

  async after(items: number): Promise<void> {
    this.#left -= items;
    if (this.#left > 0) return;
    this.#left = BREATH_ITEMS;
    await yieldToEventLoop();
  }
}

/** Passes batches on unchanged. Between them, yields to the event loop after about every `BREATH_ITEMS` items. */
export async function* withBreaths<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[], void> {
  const breather = new Breather();
  for await (const batch of batches) {
    yield batch;
    await breather.after(batch.length);
  }
}

/** Yields slices of `size` items. Yields to the event loop between two slices. */
export async function* inSlices<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[], void> {
  for (let at = 0; at < items.length; at += size) {
    if (at > 0) await yieldToEventLoop();
    yield items.slice(at, at + size);
  }
}

/**
 * Shares one event loop among many tasks. All tasks together may do a fixed number of steps per turn of the loop.
 * Further steps wait for the next turn, first come, first served. Without this limit, a hundred tasks could make one
 * turn very long, because each task works until its socket is full. Tasks that need several turns would then starve.
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
