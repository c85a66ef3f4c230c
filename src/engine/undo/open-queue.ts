import { endBefore, settledNotes, wouldEndBefore } from "./before-change.ts";
import type { Context } from "../log/context.ts";
import { OperationQueue } from "../capture/operation-queue.ts";
import { endOrphans } from "./transaction.ts";

/**
 * `keepToBudget`: see `OperationQueue`; passed in because its room is above this one. `onClose` runs last, after
 * everything in the queue has ended.
 */
export function openQueue(
  context: Context,
  keepToBudget: (context: Context) => Promise<void>,
  onClose: () => Promise<void>,
): OperationQueue {
  const settling = { endBefore, wouldEndBefore, notesOf: settledNotes, endOrphans, keepToBudget };
  return new OperationQueue(context, settling, onClose);
}
