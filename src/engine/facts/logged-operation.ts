import type { OperationShape } from "../../api/shapes.ts";
import type { UndonePart } from "../../core/records/records.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { SeqRanges } from "../../core/values/seq-ranges.ts";

/** An operation that `undo` can invert, as the log describes it. */
export interface LoggedOperation {
  readonly id: string;
  readonly kind: OperationShape["kind"];
  readonly summary: string;
  readonly started: string;
  readonly ended: string | null;
  /** All changes of the operation are events after this event. */
  readonly fromSeq: number;
  /** The last event that can be a change of the operation. */
  readonly toSeq: number;
  readonly target?: string;
  readonly client?: string;
  /** The number of changed paths, as recorded. */
  readonly changed: number;
  /** Set for a write, a run or an action that is a part of another operation. */
  readonly isPart?: true;
  /** Set for an action that is within another action. */
  readonly inAction?: true;
  /** The operation that this run or action is a part of. An undo of that operation undoes the part, too. */
  readonly partOf?: string;
  readonly selective?: Selective;
  /**
   * The paths that the undo left alone. Set only for an undo of a whole operation. The events of these paths are not
   * undone.
   */
  readonly left?: readonly WorkspacePath[];
  /**
   * The paths of the redo's conflicts that are open, or that were settled neither in favour of the redo nor by a merge.
   * Set only for a redo that met conflicts. The redo has no effect at such a path, unless it brought back a part of the
   * path's content.
   */
  readonly unmerged?: readonly WorkspacePath[];
  /**
   * Set for an undo or redo if a later undo has undone at least a part of its changes. Also set for a redo with
   * `unmerged`.
   */
  readonly reversed?: Reversed;
  /**
   * True if no change of the operation is in force any more. Not set if the undos and redos of the operation already
   * show whether the operation is undone (see `undoneTold`).
   */
  readonly isUndone?: boolean;
}

/**
 * The paths at which an undo or redo has no effect, for one of two reasons. A later undo may have undone the undo or
 * redo at the path. Or the path has a conflict that was not settled in favour of the redo (`unmerged`).
 */
export interface Reversed {
  /**
   * Maps a path to the seq of the last event of the latest undo that undid the operation at the path. If no later undo
   * undid the redo at a path in `unmerged`, the value is the seq of the last event of the redo itself.
   */
  readonly paths: ReadonlyMap<WorkspacePath, number>;
  /** True if `paths` has all paths that the operation changed. */
  readonly isAll: boolean;
}

/** The selection of an undo, and the events that the undo undid. The fields are described in `IntentRecord`. */
export interface Selective {
  readonly selection: string;
  readonly takes: readonly string[];
  /** The operations that are undone only in part, because the other parts did not merge, or were left alone. */
  readonly passes: readonly string[];
  readonly took: SeqRanges;
  /** The events of paths that did not merge. These events are not undone, except at the paths in `settled`. */
  readonly met: SeqRanges;
  /** Paths whose conflicts were settled in favour of the undo, or by a merge. Their events in `met` are undone. */
  readonly settled: ReadonlySet<WorkspacePath>;
  /**
   * Paths whose conflicts are open, or were settled in favour of the present state. These paths were reported to
   * people, so the next undo skips them.
   */
  readonly named: ReadonlySet<WorkspacePath>;
  /** Paths that were left alone. Their events are not undone. */
  readonly left: readonly WorkspacePath[];
  /** The paths of which the undo undid only some hunks. */
  readonly parts: readonly UndonePart[];
  /** Set if the undo changed no file and undid nothing, because everything was in conflict or was left alone. */
  readonly isNothing?: true;
}
