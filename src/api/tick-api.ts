/** Options of `WorkspaceApi.ticks`. */
export interface TicksOptions {
  /** Only work whose last event is after this event (default: 0). */
  readonly after?: number;
  /** Only work whose last event is before this event. */
  readonly before?: number;
  /** The maximum number of ticks (default: 5,000; at most 20,000). */
  readonly limit?: number;
  /** True to select the newest ticks of the range instead of the oldest (default: false). */
  readonly reverse?: boolean;
}

/**
 * The work of a history in columns, for a drawing of all of it over time. The n-th items of all columns are row n,
 * which is one tick: an action, a run, an operation, a snapshot, a conflict of a sync, or changes that were recorded
 * together and belong to no other work. The rows are sorted by the last event of the work.
 *
 * Work that goes on has a tick, too. When another event of the work is recorded, the tick gets a new last event, and
 * keeps its first event. A reader that requests new ticks with `after` therefore replaces each tick that it has by the
 * new tick with the same first event. Only a compaction can change the first event of work, because it can drop events.
 * After a compaction (`HeadChangeShape.records`), a reader must read all ticks anew.
 */
export interface TicksShape {
  /** The values to which the columns `kind`, `outcome`, `actor`, `session` and `turn` refer by index. */
  kinds: TickKindName[];
  outcomes: TickOutcomeName[];
  actors: TickActor[];
  sessions: string[];
  turns: string[];
  /** The seq of the last event of the work, minus that of the row before. In the first row: the seq itself. */
  last: number[];
  /** The seq of the last event of the work, minus the seq of its first event; 0 for work with a single event. */
  events: number[];
  /**
   * The time at which the work ended, in ms, minus that of the row before. In the first row: the time itself, in epoch
   * ms.
   */
  ended: number[];
  /** The time that the work took, in ms. */
  took: number[];
  kind: number[];
  outcome: number[];
  actor: number[];
  /** `session`: an index of `sessions`, or -1. `turn`: an index of `turns`, or -1. */
  session: number[];
  turn: number[];
  /** The number of changed paths; 0 while it is not known. */
  changed: number[];
  /**
   * The last event of the history at the time of the answer. If `more` is false, a reader later requests new ticks with
   * this event as `after`.
   */
  head: number;
  /**
   * True if the range has more ticks: after the last row or, with `reverse`, before the first row. A reader then
   * continues with the last event of the last row as `after`. With `reverse`, it continues with the last event of the
   * first row as `before`; if the first row is an `edit` or a `sync`, with the first event of that row, because the row
   * may stand for changes of several files.
   */
  more: boolean;
}

/**
 * The kind of a tick. `tool`: an action that declares its paths. `command`: an action that may change any path. `run`:
 * a command that Chronicle ran. `edit`: changes that belong to no other work. `sync`: changes from another copy.
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
