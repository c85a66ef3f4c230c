import type { Entry } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";

/**
 * The current files of a workspace in its history, used in place of a disk. Answers come from the index, which a commit
 * has brought up to the head before anything is applied. Backend: `IndexedFiles`.
 */
export interface RecordedFiles {
  /** Returns the recorded entry of each path. */
  entries(paths: readonly WorkspacePath[]): Promise<readonly (Entry | undefined)[]>;
  /** The paths directly in a folder. */
  children(folder: WorkspacePath): Promise<readonly WorkspacePath[]>;
  /** Counts the paths and the bytes of their contents. */
  tally(): Promise<RecordedTally>;
  /** Returns those of the contents that are in the store. */
  stored(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  content(hash: Hash): Promise<Buffer | undefined>;
}

export interface RecordedTally {
  readonly entries: number;
  readonly bytes: number;
}
