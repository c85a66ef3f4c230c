import type { Change } from "../../core/values/change.ts";
import { invert } from "../../core/tree/plan.ts";
import type { IntentRecord } from "../../core/records/records.ts";
import type { Context } from "../log/context.ts";
import { ownChanges } from "../facts/own-changes.ts";

/** The way to close a write that was never acknowledged. */
export interface TornWrite {
  /** The changes to make: none if the whole write is on disk, else those that take its parts back. */
  readonly changes: Change[];
  readonly state: "done" | "abandoned";
}

/**
 * A write without a folder is one append, and a crash may leave the first lines of an append. It has no plan from which
 * the rest could be made; but nobody was told that it is done, so it may as well never have been.
 */
export async function tornWrite(
  context: Context,
  { id, intent }: { readonly id: string; readonly intent: IntentRecord },
): Promise<TornWrite> {
  const { seq } = await context.index.head();
  const span = { fromSeq: intent.fromSeq, toSeq: seq };
  const { changes: own } = await ownChanges(context, span, { isOwn: (record) => record.intent === id });
  return own.length === intent.paths ? { changes: [], state: "done" } : { changes: invert(own), state: "abandoned" };
}
