import type { LogEvent } from "../../core/values/event.ts";
import { changesOf, type FileRecord } from "../../core/values/file-record.ts";
import { RecentMap } from "../../util/recent-map.ts";

/**
 * At least this many events are remembered, and at most twice as many: those that one step asks about, and those that
 * come meanwhile.
 */
const MOST_EVENTS = 8_192;

type Body = Pick<LogEvent, "recordId" | "record">;

/**
 * The file records of the last events, as they came. A step asks about each of its events soon after it was appended,
 * and reading one from the log costs a check of its end, three index queries, and opening a file.
 */
export class RecentRecords {
  /** By seq. */
  readonly #bodies = new RecentMap<number, Body>(MOST_EVENTS);

  add(events: readonly Pick<LogEvent, "seq" | "recordId" | "record">[]): void {
    for (const { seq, recordId, record } of events.slice(-MOST_EVENTS)) this.#bodies.put(seq, { recordId, record });
  }

  /** Returns `undefined` if the event is not remembered, and `null` if it is not about a file. Throws `LOG_DAMAGED`. */
  get(seq: number): FileRecord | null | undefined {
    const body = this.#bodies.get(seq);
    if (body === undefined) return undefined;
    return changesOf(body)[0]?.file ?? null;
  }
}
