import { Breather } from "./yield-to-event-loop.ts";

/** Yields the same batches, and yields to the event loop now and then if there are very many items. */
export async function* withBreaths<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[], void> {
  const breather = new Breather();
  for await (const batch of batches) {
    yield batch;
    await breather.after(batch.length);
  }
}
