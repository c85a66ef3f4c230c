import { readEventFast } from "../core/chain.ts";
import { ChronicleError } from "../core/errors.ts";
import type { LogEvent } from "../core/event.ts";
import type { EventRow } from "../storage/index-store.ts";
import type { HistoryContext } from "./context.ts";
import { isInBase, readBaseRecord } from "./read-base.ts";

/** The body of an event that the index has located. Throws `LOG_DAMAGED` when another line stands there. */
export async function readEvent(context: HistoryContext, row: EventRow): Promise<LogEvent> {
  if (isInBase(row)) return readBaseRecord(context.blobs, row);
  for await (const lines of context.log.read({ seq: row.seq, offset: row.offset })) {
    const first = lines[0];
    if (first === undefined) continue;
    const event = eventIn(first.bytes, row);
    if (event.seq === row.seq && event.hash === row.hash) return event;
    break;
  }
  throw damagedEvent(row, "it is not where the index says");
}

function eventIn(bytes: Uint8Array, row: EventRow): LogEvent {
  try {
    return readEventFast(bytes);
  } catch (cause) {
    throw damagedEvent(row, cause instanceof Error ? cause.message : "it cannot be read", cause);
  }
}

function damagedEvent({ seq, offset }: EventRow, why: string, cause?: unknown): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `event ${seq} cannot be read: ${why}`, {
    hint: "run `chronicle verify` for the whole list, and restore the log from a copy",
    data: { seq, offset },
    cause,
  });
}

/** The bodies of many events, in their order. */
export async function readEvents(context: HistoryContext, rows: readonly EventRow[]): Promise<LogEvent[]> {
  const events: LogEvent[] = [];
  for (const row of rows) events.push(await readEvent(context, row));
  return events;
}

/** Every event with `from <= seq <= to`, in order, in one pass over the log. */
export async function* readRange(context: HistoryContext, from: number, to: number): AsyncGenerator<LogEvent> {
  if (to < from) return;
  const row = await context.index.locate(from);
  if (row === undefined || isInBase(row)) return;
  for await (const lines of context.log.read({ seq: from, offset: row.offset })) {
    for (const line of lines) {
      const event = readEventFast(line.bytes);
      if (event.seq > to) return;
      yield event;
    }
  }
}
