import { ChronicleError } from "../../core/values/errors.ts";
import { catchUp, rebuildFromLog, type CatchUp } from "./catch-up.ts";
import type { HistoryContext } from "./context.ts";
import { IndexDisagrees, stillDisagrees } from "./index-disagrees.ts";

/**
 * Brings the index up to date with the log, and runs `work`, which reads the index. If the index is damaged, rebuilds
 * the index from the log, and runs `work` again.
 */
export async function answer<T>(context: HistoryContext, work: (found: CatchUp) => Promise<T>): Promise<T> {
  try {
    const found = await catchUp(context, { recover: false });
    const result = await work(found);
    // Another process may have emptied the index while `work` read the index. If so, the result may be incomplete.
    if ((await context.index.head()).seq >= found.head.seq) return result;
    return await work(await catchUp(context, { recover: false }));
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    const found = await rebuildFromLog(context);
    return orDamage(() => work(found));
  }
}

/**
 * Runs `work`, which changes the history. The caller must have called `catchUp` just before, because this function does
 * not do so. If the index disagrees with the log, rebuilds the index and runs `work` once more. Does the same for a
 * damaged index, unless events were appended to the log since the call.
 */
export async function rebuildingOnce<T>(context: HistoryContext, work: () => Promise<T>): Promise<T> {
  const { seq } = context.log.head;
  try {
    return await work();
  } catch (error) {
    const isIndex = error instanceof ChronicleError && error.code === "INTEGRITY_VIOLATION";
    const isRepeatable = error instanceof IndexDisagrees || (isIndex && (await context.log.refresh()).seq === seq);
    if (!isRepeatable) throw error;
    await rebuildFromLog(context);
    return orDamage(work);
  }
}

/** Runs `work` on an index that was just rebuilt. Throws `LOG_DAMAGED` if the index still disagrees with the log. */
async function orDamage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof IndexDisagrees ? stillDisagrees(error) : error;
  }
}
