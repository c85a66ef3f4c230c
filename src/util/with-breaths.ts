import { breathe } from "./breathe.ts";

/** After so many items others have a turn. */
const BREATH_ITEMS = 4_096;

/** The same batches; of very many items the process has a turn for other things now and then. */
export async function* withBreaths<T>(batches: AsyncIterable<readonly T[]>): AsyncGenerator<readonly T[], void> {
  let left = BREATH_ITEMS;
  for await (const batch of batches) {
    yield batch;
    left -= batch.length;
    if (left > 0) continue;
    left = BREATH_ITEMS;
    await breathe();
  }
}
