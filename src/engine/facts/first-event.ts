import type { Change } from "../../core/values/entry.ts";
import type { FileRecord } from "../../core/values/file-record.ts";

/**
 * The first event of a path among the events that an operation or selection owns. An undo restores the state right
 * before this event.
 */
export interface FirstEvent {
  readonly seq: number;
  readonly action?: string | undefined;
  /**
   * True if Chronicle wrote the state that the event records. If so, the state before the event is what Chronicle found
   * on disk.
   */
  readonly isWritten: boolean;
  /** True if the cause of the event is `run`. Default: false. */
  readonly isRun?: boolean;
}

/** The net change that the events of an operation or selection make to a path, and the first of these events. */
export interface OwnChange extends Change {
  readonly first: FirstEvent;
}

/** The causes of iterations that Chronicle wrote itself. */
const WRITTEN: ReadonlySet<FileRecord["cause"]> = new Set([
  "write",
  "restore",
  "undo",
  "redo",
  "resolve",
  "replica",
  "merge",
] as const);

export function firstEvent({ action, cause }: Pick<FileRecord, "action" | "cause">, seq: number): FirstEvent {
  return { seq, action, isWritten: WRITTEN.has(cause), isRun: cause === "run" };
}
