import { decodeIntent, type IntentRecord } from "../../core/records/records.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { Context } from "../log/context.ts";
import { readEvent } from "../log/read-events.ts";

/** A named request that was done, with the event that says so. */
export interface DoneRequest {
  readonly intent: IntentRecord;
  readonly row: EventRow;
}

/** Returns the request that became this intent, if it was done, as far as the index knows. */
export async function doneRequest(context: Context, id: string): Promise<DoneRequest | undefined> {
  const row = await context.index.record(`intent:${id}`);
  if (row === undefined) return undefined;
  const intent = decodeIntent((await readEvent(context, row)).record);
  return intent.state === "done" ? { intent, row } : undefined;
}
