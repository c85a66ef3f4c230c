import type { OperationShape } from "../api/shapes.ts";
import type { WorkspacePath } from "../core/path.ts";
import type { SeqRanges } from "../core/seq-ranges.ts";

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
  /** A write that is part of another operation here: of an action, a run, or a committed transaction. */
  readonly isPart?: true;
  /** Of an undo of somebody's work: whose, and what it took back. */
  readonly selective?: Selective;
}

/** What an undo of somebody's work took back (see `IntentRecord`). */
export interface Selective {
  readonly selection: string;
  readonly takes: readonly string[];
  readonly took: SeqRanges;
  readonly left: readonly WorkspacePath[];
}
