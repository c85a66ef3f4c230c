import { endBefore, settledNotes, wouldEndBefore } from "./before-change.ts";
import type { Context } from "../log/context.ts";
import { OperationQueue } from "../capture/operation-queue.ts";
import { endOrphans } from "./transaction.ts";

/** `onClose` runs last, after everything in the queue has ended. */
export function openQueue(context: Context, onClose: () => Promise<void>): OperationQueue {
  return new OperationQueue(context, { endBefore, wouldEndBefore, notesOf: settledNotes, endOrphans }, onClose);
}
