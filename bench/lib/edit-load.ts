import { loadProcess } from "./load-process.ts";

/** Edits of the files of a tree (`syncTree`) at a steady rate, round and round. */
export interface EditLoadPlan {
  readonly folder: string;
  readonly files: number;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface EditLoad {
  readonly edits: number;
  /** From the first edit until after the last one. */
  readonly seconds: number;
}

/** Runs it in a process of its own. Each edit writes a file in place, with a content that there never was before. */
export function editLoad(plan: EditLoadPlan): Promise<EditLoad> {
  return loadProcess("edit-load-main.ts", plan);
}
