import type { RecordBody } from "../values/event.ts";
import { flag, text } from "../values/record-fields.ts";

/**
 * `pin:<snapshot id>`: a snapshot was pinned or unpinned after it was made. This is a record of its own because a
 * snapshot's own event stands for a state, and is never written again.
 */
export interface PinRecord {
  readonly pinned: boolean;
  readonly actor: string;
}

/** The record id of the pin of a snapshot. */
export function pinRecordId(snapshotId: string): string {
  return `pin:${snapshotId}`;
}

/** A pin record as JSON. */
export function encodePin({ pinned, actor }: PinRecord): RecordBody {
  return { pinned, actor: actor.toWellFormed() };
}

/** The pin record in a body. Throws `LOG_DAMAGED`. */
export function decodePin(body: RecordBody): PinRecord {
  return { pinned: flag(body, "pinned"), actor: text(body, "actor") };
}
