import { parseLine, readEventFast } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { EventLog, LogPosition } from "../../storage/event-log.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { HistoryContext } from "./context.ts";
import { DAMAGED_LINE, NOT_OPENED } from "./damaged-log.ts";
import { isInBase, readBaseRecord } from "./read-base.ts";

/**
 * Reads an event at the place that the index names. Throws `LOG_DAMAGED` if the line of the event is damaged or
 * missing. Throws `INTEGRITY_VIOLATION` if only the index is wrong, which a rebuild of the index repairs.
 */
export async function readEvent(context: HistoryContext, row: EventRow): Promise<LogEvent> {
  if (isInBase(row)) return readBaseRecord(context.blobs, row);
  let damage: ChronicleError | undefined;
  try {
    for await (const lines of context.log.read({ seq: row.seq, offset: row.offset })) {
      const first = lines[0];
      if (first === undefined) continue;
      const event = eventIn(first.bytes, row);
      if (event.seq === row.seq && event.hash === row.hash) return event;
      break;
    }
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "LOG_DAMAGED") throw error;
    damage = error;
  }
  damage ??= damagedEvent(row, "its line is not at the place that the index names");
  if ((await eventCounted(context, row.seq)) === undefined) throw damage;
  throw new ChronicleError("INTEGRITY_VIOLATION", `the index is wrong about event ${row.seq}`, { cause: damage });
}

/**
 * Finds event `wanted` by counting the lines of the log, without the index. Returns `undefined` if the line of the
 * event is missing or damaged.
 */
export async function eventCounted(
  { log }: Pick<HistoryContext, "log">,
  wanted: number,
): Promise<LogEvent | undefined> {
  let seq: number | undefined;
  for await (const lines of log.read({ seq: 1, offset: 0 })) {
    for (const { bytes } of lines) {
      const first = seq === undefined ? wholeOrNone(bytes) : undefined;
      seq = seq === undefined ? first?.seq : seq + 1;
      if (seq === undefined || seq > wanted) return undefined;
      if (seq !== wanted) continue;
      const event = first ?? wholeOrNone(bytes);
      return event?.seq === wanted ? event : undefined;
    }
  }
  return undefined;
}

/** Returns the event of a line; `undefined` if the line is damaged or is no event. */
export function wholeOrNone(bytes: Uint8Array): LogEvent | undefined {
  try {
    return parseLine(bytes);
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}

function soundOrNone(bytes: Uint8Array): LogEvent | undefined {
  try {
    return readEventFast(bytes);
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
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
    // The first line has the record of the workspace, without which the workspace cannot be opened.
    hint: seq === 1 ? NOT_OPENED : DAMAGED_LINE,
    data: { seq, offset },
    cause,
  });
}

/** The maximum distance, in events, between two wanted events that are read in one pass over the log. */
const FAR = 1_000;

/**
 * Returns the events of these rows, in the order of the rows. Events that are close together in the log are read in one
 * pass.
 */
export async function readEvents(context: HistoryContext, rows: readonly EventRow[]): Promise<LogEvent[]> {
  const found = new Map<number, LogEvent>();
  const wanted = rows.filter((row) => !isInBase(row)).sort((a, b) => a.seq - b.seq);
  for (let at = 0; at < wanted.length;) at = await readRun(context, wanted, { at, found });
  const events: LogEvent[] = [];
  for (const row of rows) events.push(found.get(row.seq) ?? (await readEvent(context, row)));
  return events;
}

/**
 * Reads events into `found` in one pass over the log, beginning with the row at position `at`. Returns the position of
 * the first row that was not reached.
 */
async function readRun(
  context: HistoryContext,
  wanted: readonly EventRow[],
  { at: start, found }: { readonly at: number; readonly found: Map<number, LogEvent> },
): Promise<number> {
  let at = start;
  let row = wanted[at];
  if (row === undefined) return at;
  let seq = row.seq;
  for await (const lines of context.log.read({ seq, offset: row.offset })) {
    for (const { bytes } of lines) {
      if (seq === row.seq) {
        // If this line is not the wanted event, `readEvents` reads the event again with `readEvent`, which reports the
        // fault.
        const event = soundOrNone(bytes);
        if (event?.seq === row.seq && event.hash === row.hash) found.set(seq, event);
        at += 1;
        row = wanted[at];
        if (row === undefined || row.seq - seq > FAR) return at;
      }
      seq += 1;
    }
  }
  return Math.max(at, start + 1);
}

/** Yields every event that has a line in the log, up to event `to`, in order. The index is not read. */
export async function* readUpTo({ log }: Pick<HistoryContext, "log">, to: number): AsyncGenerator<LogEvent> {
  yield* eventsFrom(log, { seq: 1, offset: 0 }, to);
}

/** Yields every event with `from <= seq <= to`, in order. Yields nothing if the index has no line for event `from`. */
export async function* readRange(context: HistoryContext, from: number, to: number): AsyncGenerator<LogEvent> {
  if (to < from) return;
  const row = await context.index.locate(from);
  if (row === undefined || isInBase(row)) return;
  yield* eventsFrom(context.log, { seq: from, offset: row.offset }, to);
}

/**
 * The beginning of the field that marks the line of a file's event. Lines are canonical JSON, so the field is always
 * spelled like this.
 */
const OF_FILE = Buffer.from('"record_id":"file');

/**
 * Yields the events of files with `from <= seq <= to`, in order. Only lines that contain `OF_FILE` are parsed, because
 * the other lines are the longest ones. An event of another kind is also yielded if its line contains `OF_FILE`.
 */
export async function* readFileEvents(context: HistoryContext, from: number, to: number): AsyncGenerator<LogEvent> {
  if (to < from) return;
  const row = await context.index.locate(from);
  if (row === undefined || isInBase(row)) return;
  let seq = from;
  for await (const lines of context.log.read({ seq: from, offset: row.offset })) {
    for (const { bytes } of lines) {
      if (bufferOf(bytes).includes(OF_FILE)) yield readEventFast(bytes);
      if (seq === to) return;
      seq += 1;
    }
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

async function* eventsFrom(log: EventLog, from: LogPosition, to: number): AsyncGenerator<LogEvent> {
  if (to < from.seq) return;
  for await (const lines of log.read(from)) {
    for (const line of lines) {
      const event = readEventFast(line.bytes);
      if (event.seq > to) return;
      yield event;
      // The lines after event `to` are not read, because they may be a torn tail.
      if (event.seq === to) return;
    }
  }
}
