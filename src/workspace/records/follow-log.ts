import { checkLine, parseLine } from "../../core/chain.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { Head, LogEvent } from "../../core/event.ts";
import { decodeRecordSentinel } from "../../core/record-sentinel.ts";
import { recordText, type RecordState } from "../../core/record-state.ts";
import type { EventLog, LogPosition, RawLine } from "../../storage/event-log.ts";

/** A state, and where the line of the next event begins. */
export interface Place {
  readonly state: RecordState;
  offset: number;
}

/** A line that does not go on from the one before it. */
export interface BadLine {
  readonly position: LogPosition;
  readonly lineNumber: number;
  readonly detail: string;
}

/** What is certain about a log from elsewhere: so many events were recorded, and the last one had this hash. */
export type Bound = Head;

export interface FollowOptions {
  /** Lines up to here were recorded for certain: behind a bad one, those that are sound by themselves still count. */
  readonly bound: Bound;
}

export interface Followed {
  readonly bad: BadLine | undefined;
  /** The event at the bound is another one. */
  readonly replaced: boolean;
}

/** Brings a state up to the end of the log. Lines are fully checked. */
export async function followLog(log: EventLog, place: Place, { bound }: FollowOptions): Promise<Followed> {
  const { state } = place;
  let bad: BadLine | undefined;
  let replaced = false;
  for await (const lines of log.read({ seq: state.head.seq + 1, offset: place.offset })) {
    for (const line of lines) {
      if (bad !== undefined) {
        salvage(state, line);
        continue;
      }
      const checked = checkedEvent(line, state.head);
      if (typeof checked === "string") {
        const seq = state.head.seq + 1;
        bad = { position: { seq, offset: line.offset }, lineNumber: line.lineNumber, detail: checked };
        if (!isDamage(log, bad, bound)) return { bad, replaced };
        salvage(state, line);
        continue;
      }
      state.apply(checked, recordText(line.bytes, checked));
      place.offset = line.offset + line.bytes.length + 1;
      if (checked.seq === bound.seq && checked.hash !== bound.hash) replaced = true;
    }
  }
  return { bad, replaced };
}

/** Is a bad line damage? Else it is a tail that was torn by a crash, and never acknowledged. */
export function isDamage(log: EventLog, { position }: BadLine, bound: Bound): boolean {
  const { seq, offset } = position;
  // Lines of the archive, and the first one behind it, were durable before anything could go on.
  return seq <= bound.seq || seq < log.firstSeq || (seq > 1 && offset === 0);
}

/** The event of a line, or what is wrong with it. */
export function checkedEvent(line: RawLine, prev: Head): LogEvent | string {
  const checked = checkLine(line.bytes, prev);
  if ("fault" in checked) return checked.fault.detail;
  const { event } = checked;
  const isOurs = event.seq > 1 || event.recordId.startsWith("store:");
  if (!isOurs) return `the log begins with ${event.recordId}: it is no record store`;
  if (event.op !== "compact") return event;
  try {
    decodeRecordSentinel(event);
    return event;
  } catch (error) {
    if (error instanceof ChronicleError) return error.message;
    throw error;
  }
}

function salvage(state: RecordState, line: RawLine): void {
  const event = soundEvent(line);
  if (event === undefined || event.seq <= state.head.seq || event.op === "compact") return;
  state.apply(event, recordText(line.bytes, event));
}

/** A line that is whole by itself, whatever stands before it. */
export function soundEvent(line: RawLine): LogEvent | undefined {
  try {
    return parseLine(line.bytes);
  } catch (error) {
    if (error instanceof ChronicleError) return undefined;
    throw error;
  }
}
