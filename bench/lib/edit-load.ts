import { loadProcess } from "./load-process.ts";

/** Edits of the files of `syncTree` at a constant rate, one file after the other, and again from the first. */
export interface EditLoadPlan {
  /** The folder of the tree. */
  readonly folder: string;
  readonly files: number;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface EditLoad {
  /** The number of edits that were made. */
  readonly edits: number;
  /** The time from the first edit until after the last one, in seconds. */
  readonly seconds: number;
}

/**
 * Makes the edits in a process of their own. Each edit writes a file in place, with a content that no file had before.
 */
export function editLoad(plan: EditLoadPlan): Promise<EditLoad> {
  return loadProcess("edit-load-main.ts", plan);
}
