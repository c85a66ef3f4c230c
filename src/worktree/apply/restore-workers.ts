import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";

/** A new file to be written with a content of the store. */
export interface StageFile {
  readonly hash: Hash;
  /** The path beneath the base. Its folder exists, and the name is free. */
  readonly path: WorkspacePath;
  /** The expected size of the content, in bytes. */
  readonly size: number;
  /** Permission bits, without setuid and setgid. */
  readonly mode: number;
  /** Modification time in ns since the epoch; `undefined` for now. */
  readonly mtimeNs: bigint | undefined;
}

/**
 * Writes many new files in parallel to this thread, all beneath one folder and without following links. Backends:
 * `FileRestoreWorkers` (threads that read the packs of a store).
 *
 * Contract
 * - A file that is reported as written holds exactly the content of its hash. It is not durable yet.
 * - A file that cannot be written is skipped. All files are skipped if there are too few for the workers to be faster.
 *   The name of a skipped file is still free.
 */
export interface RestoreWorkers {
  /**
   * Returns the stat of each file that was written, by position, or `undefined` for each that was skipped. After every
   * few files, calls `onWritten` with the number of those that were written. Must not throw.
   */
  write(
    base: string,
    files: readonly StageFile[],
    onWritten?: (files: number) => void,
  ): Promise<readonly (FileStat | undefined)[]>;
}
