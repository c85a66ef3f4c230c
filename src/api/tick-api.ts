/** Options of `WorkspaceApi.ticks`. */
export interface TicksOptions {
  /** Only work whose last event is after this event (default: 0). */
  readonly after?: number;
  /** Only work whose last event is before this event. */
  readonly before?: number;
  /** The maximum number of ticks (default: 5,000; at most 20,000). */
  readonly limit?: number;
  /** True to select the newest ticks of the range, and not the oldest ones (default: false). */
  readonly reverse?: boolean;
}

/**
 * Work of a history, in columns, for drawing all of it over time. Row `n` of all columns is one tick: an action, a run, an
 * operation, a snapshot, a conflict of a sync, or changes that belong to nothing of these and were recorded together.
 * The rows are in the order of their last events.
 *
 * Work that goes on has a tick, too. When more is recorded about it, it gets another `last`, and keeps its `first`: a
 * reader that asks again with `after` replaces what it has with the same `first`. Only a compaction can change `first`,
 * because it can drop the first events of work: after one (`HeadChangeShape.records`), a reader reads all ticks anew.
 */
export interface TicksShape {
  /** The words that the columns of the same name are indexes of. */
  kinds: TickKindName[];
  outcomes: TickOutcomeName[];
  actors: TickActor[];
  sessions: string[];
  turns: string[];
  /** The last event of the work, as the difference to the row before; in the first row, the event itself. */
  last: number[];
  /** The number of events from the first event of the work to its last one. */
  events: number[];
  /** The time at which the work ended, in ms, as the difference to the row before; in the first row, in epoch ms. */
  ended: number[];
  /** The time that the work took, in ms. */
  took: number[];
  kind: number[];
  outcome: number[];
  actor: number[];
  /** An index of `sessions`, or -1; an index of `turns`, or -1. */
  session: number[];
  turn: number[];
  /** The number of changed paths; 0 while it is not known. */
  changed: number[];
  /** The event up to which the history was looked at: a reader continues with `after`. */
  head: number;
  /**
   * True if the range has more ticks: after the last row, or with `reverse`, before the first row. With `reverse`, a reader
   * continues with `before`: the last event of the first row; if it is an `edit` or a `sync`, its first event, because the
   * row may stand for changes of several files.
   */
  more: boolean;
}

/**
 * What a tick is. `tool`: an action that declares its paths; `command`: an action that may change any path; `run`: a
 * command that Chronicle ran; `edit`: changes that belong to no other work; `sync`: changes from another copy.
 */
export type TickKindName =
  | "tool"
  | "command"
  | "run"
  | "edit"
  | "write"
  | "restore"
  | "undo"
  | "redo"
  | "resolve"
  | "sync"
  | "snapshot"
  | "conflict";

/** `conflict`: an undo that did not merge with later work, or an open conflict of a sync. */
export type TickOutcomeName = "done" | "open" | "failed" | "denied" | "abandoned" | "conflict";

export interface TickActor {
  /** The actor, as recorded. For a sync and its conflicts, the id of the other copy. */
  actor: string;
  /** `replica`: another copy of the workspace, which may be the origin. */
  who: "agent" | "person" | "command" | "replica" | "unknown";
}
