import type { Head, LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "./context.ts";
import { IndexDisagrees } from "./index-disagrees.ts";
import { isInBase } from "./read-base.ts";
import { eventCounted, wholeOrNone } from "./read-events.ts";
import { memoKey } from "./memo.ts";

/**
 * Whether the log holds an event. The log itself is asked, and the index only says where to read: it is derived, and
 * whoever forges the log can forge the index too. So a wrong index neither accuses a log nor vouches for one.
 */

type Asked = Pick<HistoryContext, "index" | "log" | "memo">;

/**
 * Whether the log holds this very event, whose seq must not be before the oldest line. `undefined` if its line is
 * damaged. Throws `IndexDisagrees` if the log holds it and the index says otherwise.
 */
export async function logHolds(context: Asked, { seq, hash }: Head): Promise<boolean | undefined> {
  const row = await context.index.locate(seq);
  const line = await lineAt(context, row);
  const event = line?.event ?? (await eventCounted(context, seq));
  if (event === undefined) return undefined;
  if (event.hash !== hash) return false;
  if (row?.hash !== hash || row.length !== line?.length) throw new IndexDisagrees(`about event ${seq}`, { seq });
  return true;
}

/** The hash of the kept head that was last found. */
const found = memoKey<Hash>("head found in the log");

/**
 * Whether the log holds a kept head, which is asked at each catching up: a head that was once found in a log is not
 * looked for again. `logHolds`, asked about the log's end, finds out whether the log is still the same one.
 */
export async function logHoldsHead(context: Asked, head: Head): Promise<boolean | undefined> {
  if (context.memo.get(found) === head.hash) return true;
  const holds = await logHolds(context, head);
  if (holds === true && head.hash !== "") context.memo.set(found, head.hash);
  return holds;
}

interface FoundLine {
  readonly event: LogEvent;
  readonly length: number;
}

/** Returns the line at which the index has an event, if it is that event's and sound. */
async function lineAt({ log }: Asked, row: EventRow | undefined): Promise<FoundLine | undefined> {
  if (row === undefined || isInBase(row)) return undefined;
  for await (const [first] of log.read({ seq: row.seq, offset: row.offset })) {
    if (first === undefined) continue;
    const event = wholeOrNone(first.bytes);
    return event?.seq === row.seq ? { event, length: first.bytes.length } : undefined;
  }
  return undefined;
}
