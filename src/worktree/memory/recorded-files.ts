import type { Entry } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";

/**
 * A workspace's current files according to its history, used instead of a disk. The answers come from the index, and
 * show the state as of the last event in the index. The caller of an apply first brings the index up to the head.
 * Backend: `IndexedFiles`.
 */
export interface RecordedFiles {
  entries(paths: readonly WorkspacePath[]): Promise<readonly (Entry | undefined)[]>;
  /** Returns the paths directly in a folder. */
  children(folder: WorkspacePath): Promise<readonly WorkspacePath[]>;
  tally(): Promise<RecordedTally>;
  /** Returns the given hashes whose contents are in the store and undamaged. */
  stored(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  content(hash: Hash): Promise<Buffer | undefined>;
}

export interface RecordedTally {
  readonly entries: number;
  readonly bytes: number;
}
