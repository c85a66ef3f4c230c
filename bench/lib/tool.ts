import type { Command } from "./command.ts";

/**
 * A tree and the history that a tool keeps of it. The methods only return commands. The bench runs and times them. A
 * tree is recorded once before it is restored, because Chronicle restores the first recorded state, and the other tools
 * the last one.
 */
export interface Kept {
  readonly tree: string;
  /** The folder that holds the history, whose size is measured. */
  readonly store: string;
  /** Records the present state of the tree. */
  record(): Command[];
  /** Lists the changes since the last record. Absent if the tool cannot do that. */
  status?(): Command[];
  /** Makes the tree equal to the recorded state, and removes new files. Absent if the tool cannot do that. */
  restoreInPlace?(): Command[];
  /** Fills an empty folder with the recorded state. */
  restoreTo(folder: string): Command[];
  /** Keeps the present record as the first one, for `backToFirst`. Absent if nothing must be kept for that. */
  keepFirst?(): Command[];
  /** Makes the tree and the last record equal to the first record. Absent if the tool cannot do that. */
  backToFirst?(): Command[];
  /** Collects garbage, which makes the store smaller. */
  collect(): Command[];
}

/** A tool that keeps the history of a folder. */
export interface Tool {
  readonly name: string;
  /** Begins a history of `tree`. `store`: a new folder for the history and for other files of the tool. Not timed. */
  begin(tree: string, store: string): Kept;
}
