import { yieldToEventLoop } from "./yield-to-event-loop.ts";

/** Yields some items at a time, in order, and yields to the event loop between the slices. */
export async function* inSlices<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[], void> {
  for (let at = 0; at < items.length; at += size) {
    if (at > 0) await yieldToEventLoop();
    yield items.slice(at, at + size);
  }
}
