import type { Hash } from "./hash.ts";
import type { RecordBody } from "./canonical-json.ts";

export type { Json, RecordBody } from "./canonical-json.ts";

export type EventOp = "upsert" | "delete" | "compact" | "migrate";

/** One parsed line of the log. `docs/format.md` describes the bytes. */
export interface LogEvent {
  /** The number of the event: 1, 2, 3 … without a gap. */
  readonly seq: number;
  /** The time in ISO 8601, UTC, with milliseconds. */
  readonly ts: string;
  readonly op: EventOp;
  readonly recordId: string;
  /** The content of the record; `{}` for a delete. */
  readonly record: RecordBody;
  /** The hash of the previous event; `""` for event 1. */
  readonly prevHash: Hash | "";
  readonly hash: Hash;
  /** The nesting depth of the agent; 0 for an agent that no other agent has started. */
  readonly recursionDepth: number;
}

/** An event before it is sealed and appended to the log. */
export interface EventDraft {
  readonly op: EventOp;
  readonly recordId: string;
  readonly record: RecordBody;
  /** See `LogEvent`. Default 0. */
  readonly recursionDepth?: number;
}

/** An event with its exact line (without the newline). */
export interface SealedEvent extends LogEvent {
  readonly line: string;
}

/** The last event of a chain. For an empty chain, the seq is 0 and the hash is `""`. */
export interface Head {
  readonly seq: number;
  readonly hash: Hash | "";
}

export const EMPTY_HEAD: Head = { seq: 0, hash: "" };
