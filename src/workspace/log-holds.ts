import type { Head, LogEvent } from "../core/event.ts";
import type { EventLog } from "../storage/event-log.ts";
import type { EventRow } from "../storage/index-store.ts";
import type { HistoryContext } from "./context.ts";
import { IndexDisagrees } from "./index-disagrees.ts";
import { isInBase } from "./read-base.ts";
import { eventCounted, wholeOrNone } from "./read-events.ts";

/**
 * Whether the log holds an event. The log itself is asked: the index only says where to look, for it is derived, and whoever
 * forges the log can forge the index with it. So neither a wrong index accuses a log, nor does it vouch for one.
 */

type Asked = Pick<HistoryContext, "index" | "log">;

/** The event that a log was found to hold last. Lines are only appended, so it is not looked for again. */
const found = new WeakMap<EventLog, Head>();

/**
 * Does the log hold this very event? Its seq must not be before the oldest line. `undefined`: its line is damaged. Throws
 * `IndexDisagrees` where the log holds it, and the index says something else.
 */
export async function logHolds(context: Asked, { seq, hash }: Head): Promise<boolean | undefined> {
  const row = await context.index.locate(seq);
  const known = found.get(context.log);
  if (row?.hash === hash && known?.seq === seq && known.hash === hash) return true;
  const line = await lineAt(context, row);
  const event = line?.event ?? (await eventCounted(context, seq));
  if (event === undefined || event.hash !== hash) return event === undefined ? undefined : false;
  const isRight = row?.hash === hash && row.length === line?.length;
  if (!isRight) throw new IndexDisagrees(`about event ${seq}`, { seq });
  found.set(context.log, { seq, hash });
  return true;
}

interface FoundLine {
  readonly event: LogEvent;
  readonly length: number;
}

/** The line where the index has an event, if it is that event's and sound. */
async function lineAt({ log }: Asked, row: EventRow | undefined): Promise<FoundLine | undefined> {
  if (row === undefined || isInBase(row)) return undefined;
  for await (const [first] of log.read({ seq: row.seq, offset: row.offset })) {
    if (first === undefined) continue;
    const event = wholeOrNone(first.bytes);
    return event?.seq === row.seq ? { event, length: first.bytes.length } : undefined;
  }
  return undefined;
}
