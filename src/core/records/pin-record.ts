import type { RecordBody } from "../values/event.ts";
import { flag, text } from "../values/record-fields.ts";

/**
 * `pin:<snapshot id>`: a snapshot was pinned or unpinned after it was made. The pin has a record of its own, because
 * the record of a snapshot is written only once. A snapshot is the state right after the event of its record, so a
 * second event would change this state.
 */
export interface PinRecord {
  readonly pinned: boolean;
  readonly actor: string;
}

export function pinRecordId(snapshotId: string): string {
  return `pin:${snapshotId}`;
}

export function encodePin({ pinned, actor }: PinRecord): RecordBody {
  return { pinned, actor: actor.toWellFormed() };
}

/** Decodes a pin record. Throws `LOG_DAMAGED` if it is invalid. */
export function decodePin(body: RecordBody): PinRecord {
  return { pinned: flag(body, "pinned"), actor: text(body, "actor") };
}
