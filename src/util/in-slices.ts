import { yieldToEventLoop } from "./yield-to-event-loop.ts";

/** Some items at a time, in order; between the slices the process has a turn for other things. */
export async function* inSlices<T>(items: readonly T[], size: number): AsyncGenerator<readonly T[], void> {
  for (let at = 0; at < items.length; at += size) {
    if (at > 0) await yieldToEventLoop();
    yield items.slice(at, at + size);
  }
}
