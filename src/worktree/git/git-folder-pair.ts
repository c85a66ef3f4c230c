import { errnoOf } from "../../core/values/errors.ts";
import { childOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs, OpenedFile } from "../files/confined-fs.ts";
import type { NotingFs } from "./seen-paths.ts";

/** The folders of a repository, each accessed without following a link. */
export interface GitFolderPair {
  /** The folder of this working tree: HEAD, the index, unfinished operations. */
  readonly own: NotingFs;
  /** The folder that all working trees share: refs, packed refs, stash. `common` can be the same object as `own`. */
  readonly common: NotingFs;
  readonly hashBytes: 20 | 32;
  /** True if the repository has no main working tree, so that HEAD in `common` belongs to no working tree. */
  readonly isBare: boolean;
  /** True if the refs are in tables (`reftable/`), and not in files. */
  readonly isReftable: boolean;
}

/** The error for a repository whose state cannot be read. The message is the reason, for people. */
export class UnreadableGit extends Error {}

/** Returns a name in a git folder as a path for `ConfinedFs`. */
export function gitPath(name: string): WorkspacePath {
  return childOf(ROOT, name);
}

/**
 * Returns the shortest leading part of a name that is a link, such as `refs/heads` of `refs/heads/a`; `undefined` if no
 * part is a link. Git would follow such a link.
 */
export function linkOnTheWay(fs: ConfinedFs, name: string): string | undefined {
  const parts = name.split("/");
  const prefixes = parts.map((_, i) => parts.slice(0, i + 1).join("/"));
  return prefixes.find((one) => fs.lstat(gitPath(one))?.kind === "symlink");
}

/** Matches the names of the refs that each working tree has for itself (see `git help worktree`). */
const OWN_REFS = /^refs\/(?:bisect|worktree|rewritten)(?:\/|$)/;

/** Returns the folder in which a ref is stored. */
export function folderOfRef({ own, common }: GitFolderPair, name: string): ConfinedFs {
  return OWN_REFS.test(name) ? own : common;
}

function openOrNone(fs: ConfinedFs, name: string): OpenedFile | undefined {
  try {
    return fs.openRead(gitPath(name));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}

interface ReadFile {
  readonly bytes: Buffer;
  readonly stat: FileStat;
}

/**
 * Reads a regular file; returns `undefined` if nothing has this name. Throws `UnreadableGit` if the file has more than
 * `most` bytes, or is no regular file.
 */
export function readBytes(fs: ConfinedFs, name: string, most: number): ReadFile | undefined {
  using file = openOrNone(fs, name);
  if (file === undefined) return undefined;
  const stat = fs.fstat(file);
  if (stat.kind !== "file") throw new UnreadableGit(`${name} is no regular file`);
  if (stat.size > most) throw new UnreadableGit(`${name} is larger than ${most} bytes`);
  const bytes = Buffer.alloc(stat.size);
  let filled = 0;
  while (filled < bytes.length) {
    const count = fs.read(file, bytes.subarray(filled), filled);
    if (count === 0) break;
    filled += count;
  }
  return { bytes: bytes.subarray(0, filled), stat };
}
