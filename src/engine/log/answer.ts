import { ChronicleError } from "../../core/values/errors.ts";
import { catchUp, rebuildFromLog, type CatchUp } from "./catch-up.ts";
import type { HistoryContext } from "./context.ts";
import { IndexDisagrees, stillDisagrees } from "./index-disagrees.ts";

/**
 * Answers from the index, which is brought up to the log first. The index is derived: if reading it shows damage, it is
 * rebuilt and asked again.
 */
export async function answer<T>(context: HistoryContext, work: (found: CatchUp) => Promise<T>): Promise<T> {
  try {
    const found = await catchUp(context, { recover: false });
    const result = await work(found);
    // If another process emptied the index meanwhile, the answer may be half of it.
    if ((await context.index.head()).seq >= found.head.seq) return result;
    return await work(await catchUp(context, { recover: false }));
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    const found = await rebuildFromLog(context);
    return orDamage(() => work(found));
  }
}

/**
 * Runs a change of the history. The caller must have caught up with the log just before: the log's end is not read
 * again. A disagreement of the index with the log is found before anything is changed, so the index is rebuilt and the
 * work is run again.
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

/** Reports a damaged log if an index that was just rebuilt still disagrees: the index is not at fault then. */
async function orDamage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof IndexDisagrees ? stillDisagrees(error) : error;
  }
}
