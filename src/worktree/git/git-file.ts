import { GIT_FILE, type GitChange, type GitState } from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { type Hash, sha256 } from "../../core/values/hash.ts";
import { childOf, displayPath, parentOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { ApplyGit } from "../git-states.ts";
import { dropFile, writeNewFile } from "./new-file.ts";

/**
 * The `.git` file of a submodule or of a linked working tree names the git folder. Captures do not take this file. If
 * the file is removed, git no longer finds the repository, although the repository itself is complete.
 */

/** The maximum size, in bytes, of a `.git` file. Such a file has one line. */
const MOST_BYTES = 4 * 1024;
const MODE = 0o644;
/** The name of the file while it is being written, beside its place. */
const STAGED = ".git.chronicle-new";
const CHANGED = "the file .git was changed since";

/**
 * Returns the bytes of the `.git` file at `path`; `undefined` if there is no regular file, or if the file is too large.
 * Follows no link.
 */
export function readGitFile(fs: ConfinedFs, path: WorkspacePath): Buffer | undefined {
  const { path: inner } = splitRoot(path);
  try {
    const stat = fs.lstat(inner);
    if (stat?.kind !== "file" || stat.size > MOST_BYTES) return undefined;
    using file = fs.openRead(inner);
    const bytes = Buffer.alloc(MOST_BYTES);
    return bytes.subarray(0, fs.read(file, bytes, 0));
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  } finally {
    fs.release();
  }
}

/** True if the only name is that of the `.git` file. This file can be read and written without opening a repository. */
export function isOfGitFile(names: readonly string[]): boolean {
  return names.length === 1 && names[0] === GIT_FILE;
}

/**
 * Returns the present value of the `.git` file. If something else is at the path, such as the git folder itself,
 * returns a value that no `.git` file has.
 */
export function gitFileValue(fs: ConfinedFs, path: WorkspacePath): ReadonlyMap<string, string> {
  const bytes = readGitFile(fs, path);
  if (bytes !== undefined) return new Map([[GIT_FILE, sha256(bytes)]]);
  const isFree = fs.lstat(splitRoot(path).path) === undefined;
  fs.release();
  return isFree ? new Map() : new Map([[GIT_FILE, "something else"]]);
}

/**
 * Returns the absolute path of the folder that a `.git` file names; `undefined` if the file names no folder. `folder`:
 * the folder that contains the file.
 */
export function folderOfGitFile(folder: string, text: string): string | undefined {
  const path = /^gitdir: (.+?)[\r\n]*$/s.exec(text)?.[1];
  if (path === undefined) return undefined;
  return path.startsWith("/") ? path : `${folder}/${path}`;
}

interface PutGitFile extends ApplyGit {
  /** Returns true if a `.git` file with this content would lead to an existing folder. */
  readonly leads: (content: Buffer) => boolean;
}

/**
 * Writes or removes the `.git` file, if its value still equals `before`. Returns the reason if the file could not be
 * changed.
 */
export async function putGitFile(
  fs: ConfinedFs,
  { path, items }: GitChange,
  { contentOf, leads }: PutGitFile,
): Promise<string | undefined> {
  const { path: inner } = splitRoot(path);
  const { before, after } = items[0] ?? {};
  const now = gitFileValue(fs, path).get(GIT_FILE);
  if (now === after) return undefined;
  if (now !== before) return CHANGED;
  const content = after === undefined ? undefined : await contentOf(after as Hash);
  if (after !== undefined && content === undefined) return "the content of the file .git was freed";
  if (content !== undefined && !leads(content)) return "the git folder to which it leads is gone";
  try {
    if (content === undefined) fs.unlink(inner);
    else if (!place(fs, inner, { content, isThere: now !== undefined })) return CHANGED;
    fs.syncFolder(parentOf(inner));
    return undefined;
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return `the file .git cannot be written (${errno})`;
  } finally {
    fs.release();
  }
}

/**
 * Puts the file into its place in one step, by a rename. Returns false if something else has been made at the path
 * meanwhile.
 */
function place(
  fs: ConfinedFs,
  inner: WorkspacePath,
  { content, isThere }: { readonly content: Buffer; readonly isThere: boolean },
): boolean {
  const staged = childOf(parentOf(inner), STAGED);
  // A process that was killed may have left this file.
  dropFile(fs, staged);
  writeNewFile(fs, staged, MODE, content);
  const isFree = isThere || fs.lstat(inner) === undefined;
  try {
    if (isFree) fs.renameFile(staged, inner);
    return isFree;
  } finally {
    dropFile(fs, staged);
  }
}

/** Returns words that name, for people, the repository whose `.git` is at `path`. */
export function nameOfRepository(path: WorkspacePath): string {
  const { path: inner } = splitRoot(path);
  if (inner === "") return "some git repositories";
  return inner === ".git" ? "the git repository" : `the git repository in ${displayPath(parentOf(inner))}`;
}

/** Returns a copy of a state with one more value. */
export function withValue(state: GitState, name: string, value: string): GitState {
  return { ...state, values: new Map([...state.values, [name, value]]) };
}
