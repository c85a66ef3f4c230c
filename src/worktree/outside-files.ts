import type { Omission } from "../core/records/coverage.ts";
import type { Entry } from "../core/values/entry.ts";
import type { Hash } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import type { Owner } from "../disk/disk.ts";
import type { ContentReader } from "./worktree.ts";

/**
 * Files that belong to no workspace, of which an agent's tool is about to change some: those outside of its folders, and
 * the own state of a git repository in them. Paths are those beneath `/`, without the slash.
 *
 * Backends: `DiskOutsideFiles`, `MemoryOutsideFiles`, `NoOutsideFiles` (where the workspace has no folder).
 *
 * Contract
 * - Every path is resolved from `/` without following links, at the time of use: what lies behind a link is left out,
 *   and said.
 * - Special files, `/proc`, `/sys` and `/dev` are never opened. Of Chronicle's own store and keys nothing is read.
 * - `replace` puts one path from `before` to `after`, whole or not at all; what is neither is left alone.
 */
export interface OutsideFiles {
  /** What `~` stands for; `undefined`: not known. */
  readonly home: string | undefined;
  /** Whoever asks is elsewhere: where things lie on this machine is not told, and of nothing but `isInside` a look is taken. */
  readonly isClosed?: true;
  /** Does this path lie in Chronicle's own store, or among its keys? `deep`: or do these lie beneath it? */
  isOwn(path: WorkspacePath, deep: boolean): boolean;
  /**
   * What a tool would reach by an absolute path: `name`, the path with the links on the way to it resolved, and `end`,
   * what a link there leads to (else the same). What cannot be resolved stays as it is.
   */
  resolve(absolute: string): { readonly name: string; readonly end: string };
  /** What is there now. `keep` gets each content, in pieces. What it throws, the look throws. */
  look(path: WorkspacePath, request: OutsideRequest): Promise<OutsideLook>;
  /**
   * Brings a path to `after`; where it is so already, only what was left aside is removed. A replaced file keeps its owner and
   * group. Answers why it could not be done, and nothing of it stays then; `undefined`: it is done, durably.
   */
  replace(change: OutsideChange): Promise<string | undefined>;
}

export interface OutsideRequest {
  /** What lies beneath a folder as well. */
  readonly deep: boolean;
  /** Where there is more than can be kept, nothing is read: a part would be of no use. */
  readonly whole?: boolean;
  /** Of what lies in a tracked place, and is left out of the history: git's own state. Whoever asks from elsewhere may see that, too. */
  readonly isInside?: true;
  readonly keep: (
    pieces: Iterable<Uint8Array>,
    of: OutsideContent,
  ) => Promise<{ readonly hash: Hash; readonly size: number }>;
}

/** A content that is about to be read: whose, and how many bytes it seems to have. */
export interface OutsideContent {
  readonly path: WorkspacePath;
  readonly size: number;
}

export interface OutsideLook {
  /** The path and, deep, those beneath it, folders first. An absent path is its one row, without an entry. */
  readonly found: readonly { readonly path: WorkspacePath; readonly entry: Entry | undefined }[];
  readonly omitted: readonly Omission[];
}

export interface OutsideChange {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
  /** The content of `after`, for a file or a link. */
  readonly content: ContentReader | undefined;
  /** Is this content kept elsewhere? What a step that was cut off has left aside is removed then. Default: only what the change names. */
  readonly isKept?: (hash: Hash) => Promise<boolean>;
  /** Told to whom the replaced file belonged, where the new one could not be given to them. */
  readonly onLostOwner?: (owner: Owner) => void;
}
