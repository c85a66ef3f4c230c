import type { LogEventShape } from "../../api/shapes.ts";
import { readEventFast } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { HistoryContext } from "../log/context.ts";
import { eventShape } from "./event-shape.ts";
import { oldestSeq } from "../log/history-start.ts";
import { isInBase } from "../log/read-base.ts";

/** The most events, and the most bytes, that are read at once for a follower that is behind. */
const PAGE_EVENTS = 500;
const PAGE_BYTES = 1024 * 1024;

/** Events that follow one another, and how long their lines are together. */
export interface EventPage {
  readonly events: readonly LogEventShape[];
  readonly bytes: number;
}

/**
 * The first events with `from <= seq <= to`, at least one. The index knows them. Throws `PRUNED` where the first is in no
 * log any more; `data.after` says after which event one can go on.
 */
export async function eventPage(context: HistoryContext, from: number, to: number): Promise<EventPage> {
  const row = await context.index.locate(from);
  if (row === undefined || isInBase(row)) throw await notThere(context, from);
  const events: LogEventShape[] = [];
  let bytes = 0;
  for await (const lines of context.log.read({ seq: from, offset: row.offset })) {
    for (const line of lines) {
      const event = readEventFast(line.bytes);
      if (event.seq !== from + events.length) throw await notThere(context, from);
      events.push(eventShape(event));
      bytes += line.bytes.length;
      if (event.seq === to || events.length === PAGE_EVENTS || bytes >= PAGE_BYTES) return { events, bytes };
    }
  }
  throw await notThere(context, from);
}

async function notThere({ log }: HistoryContext, seq: number): Promise<ChronicleError> {
  const oldest = await oldestSeq(log);
  if (seq >= oldest) return new ChronicleError("INTEGRITY_VIOLATION", `the index is wrong about event ${seq}`);
  return eventPruned(seq, oldest);
}

/** An event that a compaction has dropped; `oldest`: the first that there is. */
function eventPruned(seq: number, oldest: number): ChronicleError {
  return new ChronicleError("PRUNED", `event ${seq} is in no log any more: the history begins at event ${oldest}`, {
    hint: `go on after event ${oldest - 1}; what was recorded before is in the list of files`,
    data: { seq, after: oldest - 1 },
  });
}
