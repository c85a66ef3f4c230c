import type { OperationShape } from "../../api/shapes.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { SeqRanges } from "../../core/values/seq-ranges.ts";

/** What `undo` takes back, as the log tells it: runs, restores, actions, transactions, and the undos and redos of them. */
export interface LoggedOperation {
  readonly id: string;
  readonly kind: OperationShape["kind"];
  readonly summary: string;
  readonly started: string;
  readonly ended: string | null;
  /** Its changes are events after this … */
  readonly fromSeq: number;
  /** … up to this. */
  readonly toSeq: number;
  readonly target?: string;
  readonly client?: string;
  /** Paths changed, as it was recorded. */
  readonly changed: number;
  /** A write or a run that is part of another operation here: of an action, a run, or a committed transaction. */
  readonly isPart?: true;
  /** An action that was begun within another one. */
  readonly inAction?: true;
  /** The operation of which a run is a part: `undo` takes both back. */
  readonly partOf?: string;
  /** Of an undo of somebody's work: whose, and what it took back. */
  readonly selective?: Selective;
  /** Of an undo of a whole operation: paths that were left alone. Their events are not taken back. */
  readonly left?: readonly WorkspacePath[];
}

/** What an undo of somebody's work took back (see `IntentRecord`). */
export interface Selective {
  readonly selection: string;
  readonly takes: readonly string[];
  /** The operations of which only what did not merge, or was left alone, is left. */
  readonly passes: readonly string[];
  readonly took: SeqRanges;
  /** The events of paths that did not merge: they are not taken back … */
  readonly met: SeqRanges;
  /** … but at these paths, whose conflicts were settled for the undo, or by a merge. */
  readonly settled: ReadonlySet<WorkspacePath>;
  /** Paths whose conflicts are open, or settled for what was there: they are named, and the next undo passes them. */
  readonly named: ReadonlySet<WorkspacePath>;
  /** Paths that were left alone: their events are not taken back. */
  readonly left: readonly WorkspacePath[];
}
