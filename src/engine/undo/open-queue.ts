import { endBefore, settledNotes, wouldEndBefore } from "./before-change.ts";
import type { Context } from "../log/context.ts";
import { OperationQueue } from "../capture/operation-queue.ts";
import { endOrphans } from "./transaction.ts";

/** The queue of a workspace that has just been opened. `onClose` runs last, once everything in the queue has ended. */
export function openQueue(context: Context, onClose: () => Promise<void>): OperationQueue {
  return new OperationQueue(context, { endBefore, wouldEndBefore, notesOf: settledNotes, endOrphans }, onClose);
}
