import type { Change } from "../../core/values/change.ts";
import type { FileRecord } from "../../core/values/file-record.ts";

/** The first of somebody's own events of a path: an undo goes back to the state right before it. */
export interface FirstEvent {
  readonly seq: number;
  /** The action that did it. */
  readonly action?: string | undefined;
  /** Chronicle has put it there: it found what `before` says. */
  readonly isWritten: boolean;
  /** A run's capture found it. */
  readonly isRun?: boolean;
}

/** The net change of a path by somebody's own events, and the first of them. */
export interface OwnChange extends Change {
  readonly first: FirstEvent;
}

/** Iterations that Chronicle has written, not found. */
const WRITTEN: ReadonlySet<FileRecord["cause"]> = new Set([
  "write",
  "restore",
  "undo",
  "redo",
  "resolve",
  "replica",
  "merge",
] as const);

/** An event of a file as the first one. */
export function firstEvent({ action, cause }: Pick<FileRecord, "action" | "cause">, seq: number): FirstEvent {
  return { seq, action, isWritten: WRITTEN.has(cause), isRun: cause === "run" };
}
