import { ChronicleError } from "../../core/values/errors.ts";
import { catchUp, rebuildFromLog, type CatchUp } from "./catch-up.ts";
import type { HistoryContext } from "./context.ts";
import { IndexDisagrees, stillDisagrees } from "./index-disagrees.ts";

/**
 * Answers from the index, brought up to the log first. A damaged index is found when it is read; it is derived, so it is
 * built anew, and asked again.
 */
export async function answer<T>(context: HistoryContext, work: (found: CatchUp) => Promise<T>): Promise<T> {
  try {
    const found = await catchUp(context, { recover: false });
    const result = await work(found);
    // Emptied by somebody else meanwhile: what was answered may be half of it.
    if ((await context.index.head()).seq >= found.head.seq) return result;
    return await work(await catchUp(context, { recover: false }));
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    const found = await rebuildFromLog(context);
    return orDamage(() => work(found));
  }
}

/**
 * Does something that changes the history, which must have been looked at just before: the log's end is not asked for again. An index that does not agree with the log is found before anything is changed, so
 * it is rebuilt, and the same is done again.
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

/** An index that was just rebuilt, and still does not agree, is not what is wrong. */
async function orDamage<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof IndexDisagrees ? stillDisagrees(error) : error;
  }
}
