/** Lets timers and I/O of the process have their turn, in the middle of long work. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** So few items are no long work. */
const FEW_ITEMS = 2_000;

/** Lets others have their turn after a look at so many items, where that took long. */
export async function breatheAfter(items: number): Promise<void> {
  if (items > FEW_ITEMS) await yieldToEventLoop();
}

/** After so many items of long work others have a turn. */
const BREATH_ITEMS = 4_096;

/** Counts the items of long work that comes in pieces, and lets others have their turn now and then. */
export class Breather {
  #left = BREATH_ITEMS;

  /** After a piece of so many items. */
  async after(items: number): Promise<void> {
    this.#left -= items;
    if (this.#left > 0) return;
    this.#left = BREATH_ITEMS;
    await yieldToEventLoop();
  }
}
