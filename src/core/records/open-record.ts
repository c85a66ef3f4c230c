import type { RecordBody } from "../values/event.ts";

/** The states in which a record of each kind is unfinished. */
const OPEN: readonly (readonly [prefix: string, key: string, state: string])[] = [
  ["action:", "state", "open"],
  ["intent:", "state", "open"],
  ["session:", "state", "running"],
  ["transaction:", "status", "active"],
  ["conflict:", "state", "open"],
];

/** True if this event leaves its record unfinished. The index finds such records without reading the others. */
export function leavesOpen(recordId: string, record: RecordBody): boolean {
  return OPEN.some(([prefix, key, state]) => recordId.startsWith(prefix) && record[key] === state);
}
