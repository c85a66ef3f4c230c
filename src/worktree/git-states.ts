import type { GitChange, GitHead, GitItem, GitState } from "../core/records/git-record.ts";
import type { ReflogLine } from "../core/records/git-reflog.ts";
import type { Entry } from "../core/values/entry.ts";
import type { Hash } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";

/**
 * The state of the git repositories of a workspace: HEAD, refs, index, stash and unfinished operations, but no objects
 * and no files of the working tree. Backends: `DiskGitStates`, `NoGitStates`.
 *
 * Contract
 * - Only repositories whose git folder lies in a tracked folder, or names a tracked folder as its working tree, are read
 *   and written. No link is followed.
 * - `read` runs no program. The other methods run git, so that no setting of the repository makes git start another
 *   program or ask a server.
 * - A repository that cannot be read is named in `notes`, and prevents nothing.
 */
export interface GitStates {
  /** Returns the folders within the tracked folders in which repositories were met, without looking at them. */
  nested(): readonly WorkspacePath[];
  /** Returns every repository with its HEAD, or with the reason why its state is not recorded. */
  look(): readonly GitPlace[];
  /**
   * Reads the state of every repository. Each content that a state names is passed to `keep`, which returns its hash.
   * With `folders`, also keeps the git folders, so that `lost` can return them.
   */
  read(keep: KeepContent, folders?: KeepFolders): Promise<GitReading>;
  /** Gives up all git folders that `read` has kept, unless `isIdle` is false. */
  giveUpFolders(isIdle: KeepFolders["isIdle"]): Promise<void>;
  /**
   * Removes what is kept of git folders and belongs to no repository any more: objects that a repository no longer has,
   * and everything of a repository that is gone. Keeps nothing new. Returns the number of bytes that were freed.
   * `isIdle` is asked after what is to be removed was looked for, and must know what other processes have begun.
   */
  collectFolders(isIdle: KeepFolders["isIdle"]): Promise<number>;
  /**
   * Returns the git folder of a repository as it was when `read` kept it with its state, if it is gone or replaced, or
   * if its objects are gone; else `undefined`. Passes the contents to `keep`.
   */
  lost(state: GitState, keep: KeepLost): Promise<LostGit | undefined>;
  /**
   * Returns the present values of these names; absent names have none. `undefined`: there is no repository that can be
   * read. Keeps no content.
   */
  valuesOf(path: WorkspacePath, names: readonly string[]): Promise<ReadonlyMap<string, string> | undefined>;
  /** True if there is a folder to which a `.git` file at `path` leads if it has this content. */
  leads(path: WorkspacePath, content: Buffer): boolean;
  /**
   * Returns the last lines of HEAD's reflog, the oldest first; none if there is no such repository, and if the reflog
   * cannot be read.
   */
  headLog(path: WorkspacePath): readonly ReflogLine[];
  /** Forgets what was read, so that the next `read` passes every content to `keep`, and not only new ones. */
  forget(): void;
  /**
   * Returns the objects that these objects need and that no ref reaches now, as a pack; `undefined` if there are none.
   * Objects that do not exist are left out and counted. Takes the time and the bytes from `budget`.
   */
  pack(path: WorkspacePath, objects: readonly string[], budget: KeepBudget): Promise<KeptObjects>;
  /** Returns the budget for the objects of all repositories that one command changes. Its time begins now. */
  keepBudget(): KeepBudget;
  /**
   * Returns the hashes of the objects that items name before the change, and no longer name after it. `contentOf`
   * returns the content with a hash.
   */
  objectsOf(items: readonly GitItem[], contentOf: ContentOf): Promise<readonly string[]>;
  /**
   * Puts the objects of the change's packs into a repository, and changes it from the `before` values to the `after`
   * values. Takes git's own locks, and changes nothing unless each value is still as before, or already as after.
   * Returns `undefined` once the change is made, or the reason why it was not made. If a step fails, the steps before it
   * are taken back; the reason says "partly changed" if that fails too. The same change can be made again after the
   * process was killed.
   */
  apply(change: GitChange, how: ApplyGit): Promise<string | undefined>;
}

export type KeepContent = (content: Buffer) => Promise<Hash>;
export type ContentOf = (hash: Hash) => Promise<Buffer | undefined>;

/** A repository, without the rest of its state. */
export interface GitPlace {
  /** The path of its `.git`; the empty path stands for repositories that were not looked at. */
  readonly path: WorkspacePath;
  readonly head?: GitHead;
  /** The reason why its state is not recorded, for people; absent if it is recorded. */
  readonly problem?: string;
}

export interface GitReading {
  readonly states: readonly GitState[];
  /** Sentences for people about what was not read, and why. */
  readonly notes: readonly string[];
}

/** The time and the bytes that are left to keep objects. */
export interface KeepBudget {
  /** Milliseconds since the epoch. */
  readonly until: number;
  leftBytes: number;
}

export interface KeepFolders {
  /** The contents that were erased. Files of the git folders with these contents are left out. */
  readonly erased: ReadonlySet<Hash>;
  /** True if no work is going on that may need objects that a repository no longer has. */
  readonly isIdle: () => Promise<boolean>;
}

/** Takes the contents of a lost git folder. */
export interface KeepLost {
  /** Returns the reason, for people, why so many bytes cannot be taken; `undefined` if they can. Asked before a file. */
  readonly refusal: (bytes: number) => string | undefined;
  readonly contentOf: ContentOf;
  readonly content: KeepContent;
  /** Takes a file of any size. `path` and `size` are as before the file is read. */
  readonly file: (
    pieces: Iterable<Uint8Array>,
    of: { readonly path: WorkspacePath; readonly size: number },
  ) => Promise<{ readonly hash: Hash; readonly size: number }>;
}

/** All files and folders of a lost git folder, or the reason why they are not there, for people. */
export type LostGit = { readonly entries: ReadonlyMap<WorkspacePath, Entry> } | { readonly problem: string };

export interface KeptObjects {
  readonly pack?: Buffer;
  /** The number of objects that are missing in the repository. */
  readonly lacking: number;
  /** The reason why the objects are not in the pack, for people; absent if they are. */
  readonly problem?: string;
}

export interface ApplyGit {
  readonly contentOf: ContentOf;
  /** The text for the reflogs, one line. */
  readonly message: string;
}
