import { isWithin, ROOT, type WorkspacePath } from "../core/values/path.ts";
import type { Omission } from "../core/records/coverage.ts";
import type { Entry } from "../core/values/entry.ts";
import type { Hash } from "../core/values/hash.ts";
import type { Owner } from "../disk/disk.ts";
import type { ContentReader } from "./worktree.ts";

/**
 * Files that belong to no workspace and that an agent's tool is about to change. These are files outside of the
 * workspace's folders, and the own state of a git repository in these folders. Paths are beneath `/`, without the
 * leading slash. Backends: `DiskOutsideFiles`, `MemoryOutsideFiles`, `NoOutsideFiles` (if the workspace has no folder).
 *
 * Contract
 * - Every path is resolved from `/` without following links, at the time of use. A path behind a link is left out, and
 *   reported.
 * - Special files, `/proc`, `/sys` and `/dev` are never opened. Chronicle's own store and keys are never read.
 * - `replace` changes one path from `before` to `after`, whole or not at all. A file or link that equals neither
 *   `before` nor `after` is left as it is.
 */
export interface OutsideFiles {
  /** The path for `~`; `undefined` if not known. */
  readonly home: string | undefined;
  /**
   * Set if the caller is on another machine. Paths of this machine are then not revealed, and only `isInside` requests
   * are answered.
   */
  readonly isClosed?: true;
  /**
   * True if this path lies in Chronicle's own store or among its keys. With `deep`, also true if the store or keys lie
   * beneath the path.
   */
  isOwn(path: WorkspacePath, deep: boolean): boolean;
  /**
   * Resolves an absolute path as a tool would. `name` is the path with the links above it resolved. `end` is the target
   * if `name` is a link, else the same as `name`. Components that cannot be resolved stay as they are.
   */
  resolve(absolute: string): { readonly name: string; readonly end: string };
  /** Reads the current state of a path. Passes each content to `keep`, in pieces. Rethrows what `keep` throws. */
  look(path: WorkspacePath, request: OutsideRequest): Promise<OutsideLook>;
  /**
   * Changes a path to `after`. If the path already equals `after`, only removes the file that was set aside. A new file
   * gets the owner and group of the file that it replaces, if that is permitted. Returns `undefined` once the change is
   * durable, or the reason why it was not made. Also returns a reason if somebody wrote to the old file at the last
   * moment. In that case the change is made, and the old file is kept beside the path.
   */
  replace(change: OutsideChange): Promise<string | undefined>;
}

export interface OutsideRequest {
  /** True to include everything beneath a folder. */
  readonly deep: boolean;
  /** True to read nothing if the limits are exceeded, because a part would be of no use. */
  readonly whole?: boolean;
  /**
   * Set for paths in a tracked folder that are left out of the history, because they are git's own state. A caller on
   * another machine may see these, too.
   */
  readonly isInside?: true;
  readonly keep: (
    pieces: Iterable<Uint8Array>,
    of: OutsideContent,
  ) => Promise<{ readonly hash: Hash; readonly size: number }>;
}

/** A content that is about to be read: its path, and its apparent size in bytes. */
interface OutsideContent {
  readonly path: WorkspacePath;
  readonly size: number;
}

export interface OutsideLook {
  /**
   * The path and, with `deep`, the paths beneath it, folders first. If the path is absent, it is the only element, and
   * has no entry.
   */
  readonly found: readonly { readonly path: WorkspacePath; readonly entry: Entry | undefined }[];
  /** The paths that were not read. An omitted folder stands for everything beneath it that is not in `found`. */
  readonly omitted: readonly Omission[];
}

export interface OutsideChange {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
  /** The content of `after`, for a file or a link. */
  readonly content: ContentReader | undefined;
  /**
   * True if this content is kept elsewhere. A file with such a content that an interrupted `replace` set aside is
   * removed. Default: only the contents that the change names are kept elsewhere.
   */
  readonly isKept?: (hash: Hash) => Promise<boolean>;
  /** Called with the owner of the replaced file if the new file could not be given to this owner. */
  readonly onLostOwner?: (owner: Owner) => void;
}

/** Limits of the contents that are kept for the outside paths of one tool. */
export interface OutsideLimits {
  readonly maxFileSize: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
}

export const OUTSIDE_LIMITS: OutsideLimits = {
  maxFileSize: 2 * 1024 ** 3,
  maxEntries: 50_000,
  maxBytes: 4 * 1024 ** 3,
};

/** Folders in which the kernel presents its own state as files. */
const SYSTEM = ["proc", "sys", "dev"] as readonly string[] as readonly WorkspacePath[];

/** True if an outside path belongs to the system, or is `/` itself. */
export function isSystemPath(path: WorkspacePath): boolean {
  return path === ROOT || SYSTEM.some((folder) => isWithin(path, folder));
}

export function beneathSlash(absolute: string): WorkspacePath {
  return absolute.replace(/^\/+/, "") as WorkspacePath;
}
