import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";

/** A new file that is to hold a content of the store. */
export interface StageFile {
  readonly hash: Hash;
  /** Beneath the base. Its folder is there, and nothing has its name. */
  readonly path: WorkspacePath;
  /** The bytes that the content must have. */
  readonly size: number;
  /** Permission bits, without setuid and setgid. */
  readonly mode: number;
  /** When it was last modified, in ms; `undefined`: now. */
  readonly mtimeMs: number | undefined;
}

/**
 * Writes many new files at once, beside what this thread does, each beneath one folder and without following links.
 *
 * Backends: `FileRestoreWorkers` (threads that read the packs of a store).
 *
 * Contract
 * - A file that is told as written holds exactly the content of its hash; it is not durable yet.
 * - What it cannot do, for whatever reason, or what is too little to be worth it, is left alone: nothing has its name then.
 */
export interface RestoreWorkers {
  /**
   * The stat of each file that was written, by position; `undefined` for those that are left. `onWritten` is told of each few
   * more. Must not throw.
   */
  write(
    base: string,
    files: readonly StageFile[],
    onWritten?: (files: number) => void,
  ): Promise<readonly (FileStat | undefined)[]>;
}
