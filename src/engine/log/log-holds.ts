import type { Head, LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "./context.ts";
import { IndexDisagrees } from "./index-disagrees.ts";
import { isInBase } from "./read-base.ts";
import { eventCounted, wholeOrNone } from "./read-events.ts";
import { memoKey } from "./memo.ts";

/**
 * Checks whether the log contains an event. The index gives only the place of the line, and the event is read from the
 * log. The index alone proves nothing about a log, because whoever forges the log can forge the index, too.
 */

type Asked = Pick<HistoryContext, "index" | "log" | "memo">;

/**
 * Returns whether the log contains exactly this event; `undefined` if the line of the event is damaged. The event must
 * not be before the oldest line of the log. Throws `IndexDisagrees` if the log contains the event, but the index has
 * another place or hash for the event.
 */
export async function logHolds(context: Asked, { seq, hash }: Head): Promise<boolean | undefined> {
  const row = await context.index.locate(seq);
  const line = await lineAt(context, row);
  const event = line?.event ?? (await eventCounted(context, seq));
  if (event === undefined) return undefined;
  if (event.hash !== hash) return false;
  if (row?.hash !== hash || row.length !== line?.length) throw new IndexDisagrees(`the place of event ${seq}`, { seq });
  return true;
}

const found = memoKey<Hash>("head found in the log");

/**
 * Returns whether the log contains a kept head. Each catch-up asks for the kept head, so a head that was found is
 * remembered, and not looked for again. If the log is replaced later, another check of the catch-up notices this: the
 * call of `logHolds` for the last event of the index.
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

async function lineAt({ log }: Asked, row: EventRow | undefined): Promise<FoundLine | undefined> {
  if (row === undefined || isInBase(row)) return undefined;
  for await (const [first] of log.read({ seq: row.seq, offset: row.offset })) {
    if (first === undefined) continue;
    const event = wholeOrNone(first.bytes);
    return event?.seq === row.seq ? { event, length: first.bytes.length } : undefined;
  }
  return undefined;
}
