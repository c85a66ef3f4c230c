import { endBefore, settledNotes, wouldEndBefore } from "./before-change.ts";
import type { Context } from "../log/context.ts";
import { OperationQueue } from "../capture/operation-queue.ts";
import { endOrphans } from "./transaction.ts";

/**
 * Opens the queue of operations of a workspace. `keepToBudget` (see `Settling`) is a parameter, because this folder may
 * not import `upkeep`. `onClose` runs last, after all operations in the queue have ended.
 */
export function openQueue(
  context: Context,
  keepToBudget: (context: Context) => Promise<void>,
  onClose: () => Promise<void>,
): OperationQueue {
  const settling = { endBefore, wouldEndBefore, notesOf: settledNotes, endOrphans, keepToBudget };
  return new OperationQueue(context, settling, onClose);
}
