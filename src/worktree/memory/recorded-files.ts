import type { Entry } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";

/**
 * The files of a workspace as its history has them now: what stands for a disk where there is none. Answers are those of
 * the index, which a commit has brought up to the head before anything is applied.
 *
 * Backend: `IndexedFiles`.
 */
export interface RecordedFiles {
  /** What is recorded at each of the paths. */
  entries(paths: readonly WorkspacePath[]): Promise<readonly (Entry | undefined)[]>;
  /** The paths directly in a folder. */
  children(folder: WorkspacePath): Promise<readonly WorkspacePath[]>;
  /** How many paths there are, and the bytes of their contents. */
  tally(): Promise<RecordedTally>;
  /** Those of the contents that are in the store. */
  stored(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>>;
  content(hash: Hash): Promise<Buffer | undefined>;
}

export interface RecordedTally {
  readonly entries: number;
  readonly bytes: number;
}
