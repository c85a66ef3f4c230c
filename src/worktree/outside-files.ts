import { isWithin, ROOT, type WorkspacePath } from "../core/values/path.ts";
import type { Omission } from "../core/records/coverage.ts";
import type { Entry } from "../core/values/entry.ts";
import type { Hash } from "../core/values/hash.ts";
import type { Owner } from "../disk/disk.ts";
import type { ContentReader } from "./worktree.ts";

/**
 * Files that an agent's tool is about to change and that the workspace does not record: files outside of its folders,
 * and git's own state in its folders. Paths are relative to `/`, without the leading slash. Backends:
 * `DiskOutsideFiles`, `MemoryOutsideFiles`, `NoOutsideFiles` (if the workspace has no folder).
 *
 * Contract
 * - Every path is resolved from `/` without following links, at the time of use. A path beneath a link is not read, and
 *   is reported as omitted.
 * - Special files, `/proc`, `/sys` and `/dev` are never opened. Chronicle's own store and keys are never read.
 * - `replace` changes one path from `before` to `after`, whole or not at all. A file or link that equals neither
 *   `before` nor `after` is left as it is.
 */
export interface OutsideFiles {
  /** The path for `~`; `undefined` if not known. */
  readonly home: string | undefined;
  /**
   * Set if the caller is on another machine. In that case, no paths of this machine are revealed, and only `isInside`
   * requests are answered.
   */
  readonly isClosed?: true;
  /**
   * True if this path lies in Chronicle's own store or among its keys. With `deep`, also true if the store or keys lie
   * beneath the path.
   */
  isOwn(path: WorkspacePath, deep: boolean): boolean;
  /**
   * Resolves an absolute path in the same way as a tool that writes to it. `name` is the path with the links above it
   * resolved. `end` is the target if `name` is a link; else it equals `name`. Components that cannot be resolved stay
   * as they are.
   */
  resolve(absolute: string): { readonly name: string; readonly end: string };
  /** Reads the current state of a path. Passes each content to `keep`, in pieces. Rethrows what `keep` throws. */
  look(path: WorkspacePath, request: OutsideRequest): Promise<OutsideLook>;
  /**
   * Changes a path to `after`. If `before` equals `after`, only removes files that interrupted calls have set aside. A
   * new file gets the owner and group of the file that it replaces, if that is permitted. Returns `undefined` once the
   * change is durable, or the reason why the change was not made. If somebody wrote to the old file at the last moment,
   * the change is made nevertheless. The old file is then kept beside the path, and the returned sentence says so.
   */
  replace(change: OutsideChange): Promise<string | undefined>;
}

export interface OutsideRequest {
  /** True to include everything beneath a folder. */
  readonly deep: boolean;
  /** With `deep`: true to read nothing if everything together exceeds the limits, because a part would be of no use. */
  readonly whole?: boolean;
  /** The maximum total size of the files, in bytes, if it is less than `OutsideLimits.maxBytes`. */
  readonly mostBytes?: number;
  /**
   * Set for git's own state in a tracked folder, which the history leaves out. A caller on another machine may see such
   * paths, too.
   */
  readonly isInside?: true;
  /** Takes a content and returns its hash and size. The function may store the content or only hash it. */
  readonly keep: (
    pieces: Iterable<Uint8Array>,
    of: OutsideContent,
  ) => Promise<{ readonly hash: Hash; readonly size: number }>;
}

/** A content that is about to be read: its path, and its size in bytes before the read. */
interface OutsideContent {
  readonly path: WorkspacePath;
  readonly size: number;
}

export interface OutsideLook {
  /**
   * The path and, with `deep`, the paths beneath it, each folder before its contents. If nothing is at the path, the
   * path is the only element and has no entry.
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
   * Returns true if the content with this hash is stored. A file that an interrupted `replace` has set aside is removed
   * only if its content is stored. The contents of `before` and `after` always count as stored. Default: no other
   * content counts as stored.
   */
  readonly isKept?: (hash: Hash) => Promise<boolean>;
  /** Called with the owner of the replaced file if the new file could not be given to that owner. */
  readonly onLostOwner?: (owner: Owner) => void;
}

/** The limits of one `look`: the size of one file, the number of paths, and the total size of the files, in bytes. */
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
