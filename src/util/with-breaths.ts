import { Breather } from "./yield-to-event-loop.ts";

/** The same batches; of very many items the process has a turn for other things now and then. */
export async function* withBreaths<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[], void> {
  const breather = new Breather();
  for await (const batch of batches) {
    yield batch;
    await breather.after(batch.length);
  }
}
