import type { Command } from "./command.ts";

/** One tool's copy of a workspace with the history it keeps of it. All verbs give commands: the bench runs and times them. */
export interface Kept {
  readonly tree: string;
  /** Where the history lies, for `du`. */
  readonly store: string;
  /** Records everything, the first time or again. */
  record(): Command[];
  /** Says what has changed. Absent where the tool has nothing like it. */
  status?(): Command[];
  /** Makes the tree equal to what was recorded first, in place, new files removed. */
  restoreInPlace?(): Command[];
  /** Fills an empty folder with what was recorded first. */
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
