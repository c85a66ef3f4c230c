import { prunedBy } from "../facts/pruning.ts";
import type { Context } from "../log/context.ts";
import { historyStart } from "../log/history-start.ts";

/** True if the state after event `seq` is no longer kept. */
export async function isStateGone(context: Context, seq: number): Promise<boolean> {
  const start = await historyStart(context);
  // The state right before a compaction is still known, because it is the state of the base.
  if (start !== undefined && seq < start.seq && seq !== start.firstLine - 1) return true;
  return (await prunedBy(context, seq, seq + 1)) !== undefined;
}
