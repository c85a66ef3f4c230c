import type { CaptureLimits, FilterOptions } from "../core/filter/filter.ts";
import type { FileStat } from "../disk/disk.ts";
import type { Worktree } from "../worktree/worktree.ts";

/** A user who edits the files without the worktree. Paths are relative to the first root. */
export interface WorktreeEditor {
  write(path: string, content: string | Buffer, mode?: number): void;
  makeFolder(path: string, mode?: number): void;
  symlink(target: string, path: string): void;
  /** Removes a file, a link or a whole folder. */
  remove(path: string): void;
  move(from: string, to: string): void;
  chmod(path: string, mode: number): void;
  read(path: string): Buffer;
  stat(path: string): FileStat | undefined;
  /** Returns every path, sorted. */
  list(): string[];
}

/** A worktree, and an editor of its files. */
export interface WorktreeHarness {
  readonly worktree: Worktree;
  readonly edit: WorktreeEditor;
  /** Opens another worktree on the same files, as the next process would. */
  reopen(): Worktree;
  /** Lets time pass, so that the times of all files can be trusted. */
  later(): void;
  dispose(): void;
}

export interface HarnessOptions {
  readonly filter: FilterOptions;
  readonly limits: CaptureLimits;
}
