import type { LogEvent } from "../../core/event.ts";
import { decodeFile, pathOfRecordId, type FileRecord } from "../../core/file-record.ts";

/** So many events are remembered: as many as one step asks about, and those that come meanwhile. */
const MOST_EVENTS = 8_192;

type Body = Pick<LogEvent, "recordId" | "record">;

/**
 * What the last events have recorded of files, as they came: a step asks about each of its events soon after it was
 * appended, and reading one from the log costs a look at its end, three at the index, and opening a file.
 */
export class RecentRecords {
  /** By seq, oldest first. */
  readonly #bodies = new Map<number, Body>();

  add(events: readonly Pick<LogEvent, "seq" | "recordId" | "record">[]): void {
    for (const { seq, recordId, record } of events.slice(-MOST_EVENTS)) this.#bodies.set(seq, { recordId, record });
    for (const seq of this.#bodies.keys()) {
      if (this.#bodies.size <= MOST_EVENTS) break;
      this.#bodies.delete(seq);
    }
  }

  /** `undefined`: it is not remembered. `null`: that event is not about a file. Throws `LOG_DAMAGED`. */
  get(seq: number): FileRecord | null | undefined {
    const body = this.#bodies.get(seq);
    if (body === undefined) return undefined;
    const path = pathOfRecordId(body.recordId);
    return path === undefined ? null : decodeFile(path, body.record);
  }
}
