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
  /** Modification time in ns since the epoch. `undefined`: the file keeps the time at which it is written. */
  readonly mtimeNs: bigint | undefined;
}

/**
 * Writes many new files in parallel to this thread, all beneath one folder and without following links. Removes files
 * in the same way. Backends: `FileRestoreWorkers` (threads that read the packs of a store).
 *
 * Contract
 * - A file that is reported as written holds exactly the content of its hash. Such a file is not durable yet.
 * - A file that cannot be written is skipped. If there are so few files that the workers would not be faster, all files
 *   are skipped. The name of a skipped file is still free.
 */
export interface RestoreWorkers {
  /**
   * Returns, by position, the stat of each file that was written, and `undefined` for each file that was skipped. Calls
   * `onWritten` after every few files, with the number of these files that were written. `onWritten` must not throw.
   */
  write(
    base: string,
    files: readonly StageFile[],
    onWritten?: (files: number) => void,
  ): Promise<readonly (FileStat | undefined)[]>;
  /**
   * Removes files beneath `base`. Resolves to false if some of the files may remain. The caller then removes these
   * files. Files remain if a removal failed, if no workers are running, or if the workers would not be faster for so
   * few files.
   */
  remove(base: string, paths: readonly WorkspacePath[]): Promise<boolean>;
}
