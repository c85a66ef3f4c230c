import type { Change } from "../../core/values/entry.ts";
import type { FileRecord } from "../../core/values/file-record.ts";

/** The first of somebody's own events of a path: an undo goes back to the state right before it. */
export interface FirstEvent {
  readonly seq: number;
  /** The action that made it. */
  readonly action?: string | undefined;
  /** True if Chronicle wrote it: the state that it found there is `before`. */
  readonly isWritten: boolean;
  /** True if a run's capture found it. */
  readonly isRun?: boolean;
}

/** The net change of a path by somebody's own events, and the first of these. */
export interface OwnChange extends Change {
  readonly first: FirstEvent;
}

/** The causes of iterations that Chronicle has written, not found. */
const WRITTEN: ReadonlySet<FileRecord["cause"]> = new Set([
  "write",
  "restore",
  "undo",
  "redo",
  "resolve",
  "replica",
  "merge",
] as const);

/** Returns an event of a file as the first one. */
export function firstEvent({ action, cause }: Pick<FileRecord, "action" | "cause">, seq: number): FirstEvent {
  return { seq, action, isWritten: WRITTEN.has(cause), isRun: cause === "run" };
}
