import type { Command } from "./command.ts";

/** One tool's copy of a workspace with the history it keeps of it. All verbs give commands: the bench runs and times them. */
export interface Kept {
  readonly tree: string;
  /** The folder of the history, for `du`. */
  readonly store: string;
  /** Records everything, the first time or again. */
  record(): Command[];
  /** Lists the changes. Absent if the tool cannot. */
  status?(): Command[];
  /** Makes the tree equal to the first recorded state, in place, and removes new files. */
  restoreInPlace?(): Command[];
  /** Fills an empty folder with the first recorded state. */
  restoreTo(folder: string): Command[];
  /** Makes the store small. */
  collect(): Command[];
}

/** A tool that keeps the history of a folder. */
export interface Tool {
  readonly name: string;
  /** A new, empty history of `tree` in `store`, a new folder. Not timed. */
  begin(tree: string, store: string): Kept;
}
