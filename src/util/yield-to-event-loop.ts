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
