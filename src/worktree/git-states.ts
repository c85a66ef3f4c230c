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
 * - A repository is read and written only if its git folder lies in a tracked folder, or names a folder in a tracked
 *   folder as its working tree. No link is followed.
 * - `read` runs no program. Other methods run git. No setting of the repository can make git start another program or
 *   ask a server.
 * - A repository that cannot be read is named in `notes`. All others are read nevertheless.
 */
export interface GitStates {
  /**
   * Returns the folders within the tracked folders in which scans found repositories. Does not check that these folders
   * still exist.
   */
  nested(): readonly WorkspacePath[];
  /** Returns every repository with its HEAD, or with the reason why its state is not recorded. */
  look(): readonly GitPlace[];
  /**
   * Reads the state of every repository. Each content that a state names is passed to `keep`, which returns its hash.
   * With `folders`, also keeps the git folders, so that `lost` can return them later.
   */
  read(keep: KeepContent, folders?: KeepFolders): Promise<GitReading>;
  /** Gives up all git folders that `read` has kept, unless `isIdle` returns false. */
  giveUpFolders(isIdle: KeepFolders["isIdle"]): Promise<void>;
  /**
   * Removes the kept objects that their repository no longer has, and everything that was kept of a repository that is
   * gone. Keeps nothing new. Returns the number of bytes that were freed. `isIdle` is called after the search for what
   * to remove. Its answer must include work that other processes have begun.
   */
  collectFolders(isIdle: KeepFolders["isIdle"]): Promise<number>;
  /**
   * Returns the git folder of a repository as it was when `read` kept it together with `state`. Returns `undefined` if
   * the same git folder is still there with its objects. Passes the contents to `keep`.
   */
  lost(state: GitState, keep: KeepLost): Promise<LostGit | undefined>;
  /**
   * Returns the present values of these names, by name. A name that is absent from the repository is absent from the
   * map. Returns `undefined` if there is no repository that can be read. Keeps no content.
   */
  valuesOf(path: WorkspacePath, names: readonly string[]): Promise<ReadonlyMap<string, string> | undefined>;
  /** True if a `.git` file at `path` with this content would lead to an existing folder. */
  leads(path: WorkspacePath, content: Buffer): boolean;
  /**
   * Returns the last lines of HEAD's reflog, the oldest first. The list is empty if there is no such repository or the
   * reflog cannot be read.
   */
  headLog(path: WorkspacePath): readonly ReflogLine[];
  /** Forgets what was read, so that the next `read` passes all contents to `keep`, and not only new contents. */
  forget(): void;
  /**
   * Returns a pack of these objects and of all objects that they need. Leaves out the objects that a ref reaches now.
   * If no object is left, `pack` is absent. Objects that do not exist are left out and counted in `lacking`. The time
   * and the bytes used are taken from `budget`.
   */
  pack(path: WorkspacePath, objects: readonly string[], budget: KeepBudget): Promise<KeptObjects>;
  /**
   * Returns the budget for the objects of all repositories that one command changes. The time of the budget begins at
   * the call.
   */
  keepBudget(): KeepBudget;
  /**
   * Returns the hashes of the objects that the `before` values of the items name. Leaves out the objects that the
   * `after` values protect from git's garbage collection. `contentOf` returns the content that has a hash.
   */
  objectsOf(items: readonly GitItem[], contentOf: ContentOf): Promise<readonly string[]>;
  /**
   * Puts the objects of the change's packs into a repository, and sets its values from `before` to `after`. Takes git's
   * own locks, and changes nothing unless each value still equals `before` or already equals `after`. Returns
   * `undefined` once the change is made, or the reason why it was not made. If a step fails, the earlier steps are
   * reverted. If the earlier steps cannot be reverted, the reason says "partly changed". After the process was killed,
   * the same change can be passed to `apply` again.
   */
  apply(change: GitChange, how: ApplyGit): Promise<string | undefined>;
}

export type KeepContent = (content: Buffer) => Promise<Hash>;
export type ContentOf = (hash: Hash) => Promise<Buffer | undefined>;

/** A repository and its HEAD, without the rest of its state. */
export interface GitPlace {
  /**
   * The path of the repository's `.git`. The empty path stands for all repositories of which the state was not read,
   * because there are too many.
   */
  readonly path: WorkspacePath;
  readonly head?: GitHead;
  /** The reason, for people, why the state of the repository is not recorded. Absent if the state is recorded. */
  readonly problem?: string;
}

export interface GitReading {
  readonly states: readonly GitState[];
  /** Sentences for people. Each says which part of the state was not read, and why. */
  readonly notes: readonly string[];
}

/** The time and the bytes that are left for keeping objects. */
export interface KeepBudget {
  /** The end of the time, in milliseconds since the epoch. */
  readonly until: number;
  leftBytes: number;
}

export interface KeepFolders {
  /** The hashes of erased contents. Files in the git folders that have such a content are not kept. */
  readonly erased: ReadonlySet<Hash>;
  /** Returns true if no work is in progress that may need objects that a repository no longer has. */
  readonly isIdle: () => Promise<boolean>;
}

/** Takes the contents of a lost git folder. */
export interface KeepLost {
  /**
   * Returns the reason, for people, why contents of this total size cannot be taken; `undefined` if they can be taken.
   * Called before the files are read.
   */
  readonly refusal: (bytes: number) => string | undefined;
  readonly contentOf: ContentOf;
  readonly content: KeepContent;
  /** Takes a file of any size. `of` gives the path of the file, and its size in bytes before the read. */
  readonly file: (
    pieces: Iterable<Uint8Array>,
    of: { readonly path: WorkspacePath; readonly size: number },
  ) => Promise<{ readonly hash: Hash; readonly size: number }>;
}

/** All files and folders of a lost git folder, or the reason (for people) why the git folder cannot be returned. */
export type LostGit = { readonly entries: ReadonlyMap<WorkspacePath, Entry> } | { readonly problem: string };

export interface KeptObjects {
  readonly pack?: Buffer;
  /** The number of objects that are missing in the repository. */
  readonly lacking: number;
  /** The reason, for people, why the objects could not be packed. Absent if nothing failed. */
  readonly problem?: string;
}

export interface ApplyGit {
  readonly contentOf: ContentOf;
  /** The text for the reflogs, one line. */
  readonly message: string;
}
