import { type GitItem, isGitRef, parseIndexValue } from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { ApplyGit } from "../git-states.ts";
import { type GitFolderPair, gitPath } from "./git-folder-pair.ts";
import { dropFile, placeNewFile } from "./new-file.ts";
import type { GitStateReader } from "./read-git-state.ts";
import { lockText } from "./refuse-git-change.ts";
import type { RunGit } from "./run-git.ts";

/** The parts of a repository that a change needs. */
export interface GitTarget {
  readonly disk: Disk;
  readonly folders: GitFolderPair;
  readonly reader: GitStateReader;
  readonly run: RunGit;
  /**
   * Returns true if the path still leads to the git folder that was found. Checked before writes, so that nothing is
   * written elsewhere.
   */
  readonly isStill: () => boolean;
  /** The id of the change. The locks and the names of temporary files contain this id. */
  readonly mark: string;
  /** The present time, in ms since the epoch, for the reflog. */
  readonly now: number;
}

/** A target whose `index.lock` is held. */
export interface LockedTarget extends GitTarget {
  /** True if an earlier attempt at the same change was interrupted. */
  readonly isResumed: boolean;
}

/** A step that was made. `back` reverts the step, and returns the reason if this is not possible. */
export interface Made {
  readonly what: string;
  readonly back: () => Promise<string | undefined>;
}

/** The permissions of new files. */
const MODE = 0o644;

export const turned = ({ name, before, after }: GitItem): GitItem => ({ name, before: after, after: before });

/**
 * Returns the contents that the `after` values of items name, by the name of the item. Leaves out refs. Returns the
 * reason if a content is missing.
 */
export async function contentsOf(
  items: readonly GitItem[],
  how: ApplyGit,
): Promise<ReadonlyMap<string, Buffer> | string> {
  const found = new Map<string, Buffer>();
  for (const { name, after } of items) {
    if (isGitRef(name) || after === undefined) continue;
    const content = await how.contentOf(name === "index" ? parseIndexValue(after).blob : (after as Hash));
    if (content === undefined) return `the content of ${name} was freed`;
    found.set(name, content);
  }
  return found;
}

/** Returns the name of the temporary file in which a change writes the new content of a file. */
export const stagedName = ({ mark }: Pick<GitTarget, "mark">, name: string): string => `${name}.${mark}.new`;

/** Like `stagedName`, but at the top of the git folder. Git would take any file in `refs` for a ref. */
export const stagedAtTop = (target: Pick<GitTarget, "mark">, name: string): string =>
  stagedName(target, name.replaceAll("/", "-"));

interface TakenLock extends Disposable {
  /** True if an earlier attempt at the same change has left the lock. */
  readonly isOld: boolean;
}

/**
 * Takes a lock as git does, by creating the lock file, which contains the id of the change. The disposal of the result
 * removes the file. Returns the reason if git or another change has the lock.
 */
export function takeLock(fs: ConfinedFs, name: string, target: Pick<GitTarget, "mark">): TakenLock | string {
  const text = lockOf(target);
  let isOld = false;
  try {
    const paths = { path: gitPath(name), staged: gitPath(stagedAtTop(target, name)) };
    placeNewFile(fs, paths, MODE, Buffer.from(text));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    const present = lockText(fs, name);
    if (present?.startsWith("chronicle ") === true && present !== text) {
      return `${name} exists: another undo or redo has it, or one that was killed has left it. If none is at work, remove .git/${name}`;
    }
    isOld = present === text;
    if (!isOld) return `${name} exists: git is at work, or a git that was killed has left it`;
  }
  let isHeld = true;
  const release = (): void => {
    // A second call must not remove a lock that somebody else has taken since the first one.
    if (isHeld) dropFile(fs, gitPath(name));
    isHeld = false;
  };
  return { isOld, [Symbol.dispose]: release };
}

/** The text of the locks of a change. */
const lockOf = ({ mark }: Pick<GitTarget, "mark">): string => `chronicle ${mark}\n`;

/** Removes a lock that an interrupted attempt at the same change has left, and its temporary file. */
export function dropOldLock(fs: ConfinedFs, name: string, target: Pick<GitTarget, "mark">): void {
  dropFile(fs, gitPath(stagedAtTop(target, name)));
  if (lockText(fs, name) === lockOf(target)) dropFile(fs, gitPath(name));
}

/** Writes a file beside its place, durably. A file that an interrupted attempt has left there is replaced. */
export function writeStaged(
  disk: Disk,
  fs: ConfinedFs,
  path: ReturnType<typeof gitPath>,
  how: { readonly content: Buffer; readonly mtimeNs?: bigint | undefined; readonly mode?: number | undefined },
): void {
  const { content, mtimeNs, mode = MODE } = how;
  dropFile(fs, path);
  using file = fs.create(path, mode);
  fs.write(file, content);
  if (mtimeNs !== undefined) disk.setMtime(file.fd, mtimeNs);
  fs.sync(file);
}

/** Creates the folders above a name, where they are missing. */
export function makeFoldersOf(fs: ConfinedFs, name: string): void {
  const parts = name.split("/");
  for (let i = 1; i < parts.length; i += 1) {
    try {
      fs.makeFolder(gitPath(parts.slice(0, i).join("/")), 0o755);
    } catch (error) {
      if (errnoOf(error) !== "EEXIST") throw error;
    }
  }
}
