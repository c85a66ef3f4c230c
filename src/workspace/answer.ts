import { ChronicleError } from "../core/errors.ts";
import { catchUp, rebuildFromLog, type CatchUp } from "./catch-up.ts";
import type { HistoryContext } from "./context.ts";

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
    return work(await rebuildFromLog(context));
  }
}
