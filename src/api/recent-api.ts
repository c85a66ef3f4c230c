import type { GitChangeShape } from "./shapes.ts";

/** The kind of a line of recent work. `edit`: changes that belong to no recorded work. */
export type RecentItemKind =
  | "baseline"
  | "run"
  | "turn"
  | "action"
  | "edit"
  | "watch"
  | "write"
  | "transaction"
  | "restore"
  | "undo"
  | "redo"
  | "resolve"
  | "snapshot"
  | "sync";

export const RECENT_KINDS: readonly RecentItemKind[] = [
  ...(["baseline", "run", "turn", "action", "edit", "watch", "write", "transaction"] as const),
  ...(["restore", "undo", "redo", "resolve", "snapshot", "sync"] as const),
];

/** The recent history, as `chronicle list` shows it to people. */
export interface RecentShape {
  items: RecentItem[];
  /** The last event of the history that the answer takes into account. */
  seq: number;
  /** The operation that an `undo` without a selection undoes next; `null` if there is none. */
  undoable: string | null;
  /**
   * Only with the option `unrecorded`: the number of paths that differ now from what is recorded. Omitted if changes are
   * recorded at present, and if the number cannot be found within a tenth of a second.
   */
  unrecorded?: number;
}

/**
 * One line of `chronicle list`: the baseline, a run, the turn of an agent, an action outside of all turns, a burst of
 * edits, an operation, a snapshot, or the changes that a sync applied together.
 */
export interface RecentItem {
  kind: RecentItemKind;
  /**
   * The id of the work. For a turn, the id of the turn. For a burst of edits, `seq:N`: the moment right before the
   * burst.
   */
  id: string;
  /** The beginning of the id that people are shown. No other item of the answer has an id with this beginning. */
  short_id: string;
  /** The time at which the work ended, or at which its last change was recorded. */
  timestamp: string;
  /**
   * The events right before the work and at its end. If work ran at the same time, the events in between also have the
   * changes of others.
   */
  from_seq: number;
  to_seq: number;
  /** The text of the line. For a turn, the first line of its prompt; the summary of its first action, if no prompt is kept, and for agents
   * and readers. */
  summary: string;
  /** The actor, as recorded. For a sync, the id of the other copy. */
  actor: string;
  /**
   * Who did the work. `command`: a run. `replica`, `origin`: another copy of the workspace. `unknown`: several actors may
   * have made the changes.
   */
  who: "agent" | "sub-agent" | "person" | "command" | "replica" | "origin" | "unknown";
  /** The session of the work: of a turn or an action, that of the agent; of a run, the run itself. */
  session?: string;
  /** The number of paths that were changed. */
  changed: number;
  /** The changed paths, in path order, collapsed to folders. */
  paths: RecentPath[];
  /** The number of changed paths that `paths` neither names nor counts. */
  more_paths?: number;
  /**
   * The number of lines that were added and removed, in all text files among the paths. Omitted if there is no such
   * file, and if not all of them can be compared quickly. Protected files are not counted.
   */
  lines?: { added: number; removed: number };
  /** The changes of the state of git, one for each repository. They are kept for seven days. */
  git?: RecentGit[];
  /**
   * Only with the option `graph`: the lane of the work in a graph, from 0, and the lanes of other listed work that went
   * on when this work ended, ascending. Work that ran at the same time is in different lanes.
   */
  lane?: number;
  lanes_beside?: number[];
  /** The number of actions of a turn. */
  actions?: number;
  /** With `actions`: the actions of a turn or a run, the oldest first; at most 200. */
  beneath?: RecentAction[];
  /** The number of the snapshot. Only for a snapshot, and for edits that a snapshot recorded. */
  snapshot?: number;
  /** True while the work goes on. */
  open?: true;
  /** True if the work was undone. `undone_by` is the operation that undid it, if it is known. */
  undone?: boolean;
  undone_by?: string;
  /** True if only a part of the work was undone: some of its files, or some hunks of a file. `undone` is then not set. */
  partly_undone?: true;
  /** True if the next `undo` without a selection undoes this item, or the last part of it that is not undone. */
  is_next?: true;
  /**
   * Only for edits that were found later, because nothing watched the folder when they were made: the earlier moment at
   * which the folder was last looked at as a whole. The edits were made after it, and before `timestamp`.
   */
  changed_since?: string;
  /**
   * The command that undoes only this item, or that restores the state before it (for a baseline, the baseline itself).
   * Empty if that state is no longer kept, if the item is undone, and while the work of an agent or a run goes on.
   */
  back: string;
}

/** A change of a git repository in a line of recent work. */
export interface RecentGit extends GitChangeShape {
  /** The messages of git's reflog about the moves of HEAD, oldest first; at most the newest 20. Omitted if unknown. */
  messages?: string[];
}

/** A changed path of a line of recent work. */
export interface RecentPath {
  /** The path; for a folder that stands for several changed paths within it, the path of the folder. */
  path: string;
  change: "created" | "modified" | "deleted" | "permissions_changed" | "renamed" | "several";
  /** The number of changed paths within the folder. Omitted for a single path. */
  files?: number;
  /** For a renamed file: its earlier path, and how much of the content is the same, in percent (50 to 100). */
  from?: string;
  similarity?: number;
}

/** An action of a turn or of a run. */
export interface RecentAction {
  id: string;
  timestamp: string;
  summary: string;
  actor: string;
  who: RecentItem["who"];
  state: "open" | "done" | "failed" | "denied" | "abandoned";
  changed: number | null;
  undone?: true;
}

/** Options of `WorkspaceApi.recent`. All filters that are given must match. */
/** The maximum number of items in one answer over HTTP. */
export const MOST_RECENT = 1_000;

export interface RecentOptions {
  /** Adds `beneath` to turns and runs. Also lists actions outside of turns that changed nothing. */
  readonly actions?: boolean;
  /** Only work of this actor, or of this kind of actor (`who`). */
  readonly actor?: string;
  /** Only work that changed this path, or a path beneath it. */
  readonly file?: string;
  /** Only work after this moment. */
  readonly since?: string;
  /**
   * Only work whose last event (`to_seq`) is before this event. To get the next page of the list, pass the `to_seq` of
   * the last item.
   */
  readonly before?: number;
  /**
   * Only work whose last event (`to_seq`) is after this event. To get only new work, pass the `seq` of the last answer.
   */
  readonly after?: number;
  /**
   * The event that the answer must at least take into account. A server may then give several callers the same answer,
   * which is at most two seconds old. Default: the answer takes all events into account.
   */
  readonly atLeast?: number;
  readonly kind?: RecentItemKind;
  /** Only work of the session whose id is this text, or begins with this text. */
  readonly session?: string;
  /**
   * Only work whose summary, or the summary of one of its actions, contains this text. Ignores upper and lower case.
   */
  readonly grep?: string;
  /** False to list a renamed file as a deleted and a created path (default: true). */
  readonly renames?: boolean;
  /** True to add `lane` and `lanes_beside` to each item (default: false). */
  readonly graph?: boolean;
  /** True to add the number of paths that differ now from what is recorded (default: false). */
  readonly unrecorded?: boolean;
}
