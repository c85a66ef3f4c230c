/** Lets timers and I/O of the process have their turn, in the middle of long work. */
export function breathe(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** So few items are no long work. */
const FEW_ITEMS = 2_000;

/** Lets others have their turn after a look at so many items, where that took long. */
export async function breatheAfter(items: number): Promise<void> {
  if (items > FEW_ITEMS) await breathe();
}
