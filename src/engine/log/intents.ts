import { decodeIntent, type IntentRecord } from "../../core/records/records.ts";
import type { Context } from "./context.ts";
import { readEvents } from "./read-events.ts";

const PREFIX = "intent:";

/** An operation, as the last event of its intent describes it. `seq` and `ts` are those of this event. */
export interface LoggedIntent {
  readonly id: string;
  readonly intent: IntentRecord;
  readonly seq: number;
  readonly ts: string;
}

/**
 * Returns the intents of all finished operations whose last event is after event `after`, in the order of these events.
 */
export async function doneIntents(context: Context, after = 0): Promise<LoggedIntent[]> {
  const rows = (await context.index.records(PREFIX)).filter((row) => row.seq > after);
  const found: LoggedIntent[] = [];
  for (const { recordId, seq, ts, record } of await readEvents(context, rows)) {
    const intent = decodeIntent(record);
    if (intent.state === "done") found.push({ id: recordId.slice(PREFIX.length), intent, seq, ts });
  }
  return found;
}
