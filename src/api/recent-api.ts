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
   * Only with the option `unrecorded`: the number of paths whose state on disk differs from the recorded state. Absent
   * while all changes of the folder are recorded as they happen, and while another operation of the workspace runs.
   * Also absent if the paths cannot be compared within a tenth of a second.
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
  /**
   * The short form of the id, for people: the shortest beginning of the id, of at least 8 characters, that no other
   * item has. A moment (`seq:N`) is not shortened.
   */
  short_id: string;
  /** The time at which the work ended, or at which its last change was recorded. */
  timestamp: string;
  /**
   * `from_seq`: the event right before the work. `to_seq`: the last event of the work. If other work ran at the same
   * time, the events in between include events of that work.
   */
  from_seq: number;
  to_seq: number;
  /**
   * The text of the line. For a turn, this is the first line of its prompt. If no prompt is kept, and for agents and
   * readers, it is the summary of the turn's first action.
   */
  summary: string;
  /** The actor, as recorded. For a sync, the id of the other copy. */
  actor: string;
  /**
   * Who did the work. `command`: a run. `replica`, `origin`: another copy of the workspace. `unknown`: several actors may
   * have made the changes.
   */
  who: "agent" | "sub-agent" | "person" | "command" | "replica" | "origin" | "unknown";
  /** The id of the session. For a turn, an action or a transaction: the agent's session. For a run: the run itself. */
  session?: string;
  /** The number of paths that were changed. */
  changed: number;
  /** The changed paths, in path order, collapsed to folders. */
  paths: RecentPath[];
  /** The number of changed paths that `paths` neither names nor counts. */
  more_paths?: number;
  /**
   * The numbers of lines that were added and removed in all changed text files together. Protected files are not
   * counted. Absent if no such file was changed, or if the files are too many or too large to be compared quickly.
   */
  lines?: { added: number; removed: number };
  /** The changes of the state of git, one for each repository. They are kept for seven days. */
  git?: RecentGit[];
  /**
   * Only with the option `graph`. `lane`: the lane of the work, which is its column in a graph, from 0. `lanes_beside`:
   * the lanes, in ascending order, of other listed work that was going on when this work ended. Work of the same time
   * is in different lanes.
   */
  lane?: number;
  lanes_beside?: number[];
  /** The number of actions of a turn. */
  actions?: number;
  /** Only with the option `actions`: the actions of a turn or a run, oldest first; at most 200. */
  beneath?: RecentAction[];
  /** The number of the snapshot. Only for a snapshot, and for edits that a snapshot recorded. */
  snapshot?: number;
  /** True while the work goes on. */
  open?: true;
  /**
   * How the work ended, if it did not succeed. Only for runs and actions. `failed`: the command of a run had an exit code
   * other than 0 or was ended by a signal, or a tool reported a failure. `denied`: a tool call was not allowed.
   * `abandoned`: the process was gone before the end was recorded.
   */
  outcome?: "failed" | "denied" | "abandoned";
  /** Only for a run that ended: the exit code of its command, or the signal that ended it, if it was recorded. */
  exit_code?: number;
  signal?: string;
  /** True if the work was undone. `undone_by` is the operation that undid it, if it is known. */
  undone?: boolean;
  undone_by?: string;
  /** True if only a part of the work was undone: some of its files, or some hunks of a file. `undone` is then not set. */
  partly_undone?: true;
  /** True if the next `undo` without a selection undoes this item, or the last part of it that is not undone. */
  is_next?: true;
  /**
   * Only for edits that were found on disk: the time of the last scan of the whole folder before they were recorded.
   * The edits were made after this time, and before `timestamp`.
   */
  changed_since?: string;
  /**
   * The command that undoes only this item, or that restores the state before it (for a baseline, the baseline itself).
   * Empty if the state before it is no longer kept. Also empty for a run that goes on, and for a turn that goes on, was
   * undone, or changed nothing.
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

/** The maximum number of items in one answer over HTTP. */
export const MOST_RECENT = 1_000;

/** Options of `WorkspaceApi.recent`. An item is listed only if all given filters match. */
export interface RecentOptions {
  /**
   * True to add `beneath` to turns and runs, and to list actions outside of turns and runs that changed nothing
   * (default: false).
   */
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
   * The seq of an event that the answer must include. A server may then give several callers the same answer, which is
   * at most two seconds old. Default: the answer includes all events.
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
  /** True to add the number of paths whose state on disk differs from the recorded state (default: false). */
  readonly unrecorded?: boolean;
}
