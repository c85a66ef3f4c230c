import { type WorkspacePath, nameOf, parentOf, ROOT } from "../../core/values/path.ts";
import type { Verdict } from "../../core/filter/filter.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { GitFiles } from "./git-files.ts";

/** The known folders in which git keeps its own state, by absolute path. */
export type KnownGitFolders = NotedMap<true, string>;

/**
 * The folders in which git keeps its own state ("git folders"), each known by device and inode. A git folder need not
 * be called `.git`, for three reasons. A repository may be made with `--separate-git-dir`. A bare repository may have
 * separate working trees. A mount may give a folder a second name. If the `.git` that led to a git folder is removed,
 * the folder stays known, because its contents are still git's own state.
 */
export class GitFolders {
  readonly #files: Pick<GitFiles, "peek">;
  readonly #known: KnownGitFolders;
  readonly #devices = new Map<bigint, Set<bigint>>();

  /** Checks every folder in `known`, and removes the folders that are gone or no longer hold a repository's state. */
  constructor(files: Pick<GitFiles, "peek">, known: KnownGitFolders) {
    this.#files = files;
    this.#known = known;
    for (const folder of [...known.keys()]) if (!this.#look(folder)) known.delete(folder);
  }

  add(folder: string): void {
    if (this.#look(folder) && !this.#known.has(folder)) this.#known.set(folder, true);
  }

  has({ dev, ino }: Pick<FileStat, "dev" | "ino">): boolean {
    return this.#devices.get(ino)?.has(dev) === true;
  }

  #look(folder: string): boolean {
    const stat = this.#files.peek(folder);
    if (stat?.kind !== "dir" || this.#files.peek(`${folder}/HEAD`) === undefined) return false;
    const devices = this.#devices.get(stat.ino);
    if (devices === undefined) this.#devices.set(stat.ino, new Set([stat.dev]));
    else devices.add(stat.dev);
    return true;
  }
}

/** The verdict on a path in a git folder. */
export const GITS: Verdict = { tracked: false, rule: "git" };

/** True if the user has included this git folder on purpose: the pattern of the rule contains its name. */
export function isTakenIn(folder: WorkspacePath, { rule, pattern = "" }: Verdict): boolean {
  return rule === "force-include" && pattern.split("/").includes(nameOf(folder));
}

interface GitsOwnParts {
  readonly fs: Pick<ConfinedFs, "peek">;
  readonly folders: GitFolders;
  /**
   * True if the folder is recorded. A recorded folder is never treated as a git folder. Otherwise, a `.git` file that
   * leads to an ordinary folder would keep that folder out of the history.
   */
  readonly isRecorded: (path: WorkspacePath) => boolean;
}

interface Looked {
  readonly isFolder: boolean;
  /**
   * The outermost git folder that is this path or contains it; `undefined` if there is none, or if that folder is
   * recorded.
   */
  readonly top: WorkspacePath | undefined;
  /** True if the path is a recorded git folder, or lies in a recorded git folder. */
  readonly isRecorded: boolean;
}

/** Tells which paths of one root lie in git folders that are not recorded. Looks up each path only once. */
export class GitsOwn {
  readonly #parts: GitsOwnParts;
  readonly #looked = new Map<WorkspacePath, Looked>([[ROOT, { isFolder: true, top: undefined, isRecorded: false }]]);

  constructor(parts: GitsOwnParts) {
    this.#parts = parts;
  }

  /**
   * Returns the outermost git folder that is the path or contains it; `undefined` if there is none, or if that folder
   * is recorded.
   */
  topOf(path: WorkspacePath): WorkspacePath | undefined {
    return this.#look(path).top;
  }

  #look(path: WorkspacePath): Looked {
    const known = this.#looked.get(path);
    if (known !== undefined) return known;
    const looked = this.#within(path, this.#look(parentOf(path)));
    this.#looked.set(path, looked);
    return looked;
  }

  /** Looks up a path, given the result for its parent. Reads no stat if the parent decides the result. */
  #within(path: WorkspacePath, above: Looked): Looked {
    const { folders, isRecorded } = this.#parts;
    const isSettled = !above.isFolder || above.top !== undefined || above.isRecorded;
    const stat = isSettled ? undefined : this.#statOf(path);
    const isFolder = stat?.kind === "dir";
    if (!isFolder || !folders.has(stat)) return { ...above, isFolder };
    return isRecorded(path) ? { isFolder, top: undefined, isRecorded: true } : { ...above, isFolder, top: path };
  }

  #statOf(path: WorkspacePath): FileStat | undefined {
    try {
      return this.#parts.fs.peek(path);
    } catch (error) {
      if (errnoOf(error) === undefined) throw error;
      return undefined;
    }
  }
}

/** A map by path that notes which paths were set or deleted since `clearNotes`. */
export class NotedMap<V, P extends string = WorkspacePath> extends Map<P, V> {
  readonly #noted = new Set<P>();

  get noted(): ReadonlySet<P> {
    return this.#noted;
  }

  override set(path: P, value: V): this {
    this.#noted.add(path);
    return super.set(path, value);
  }

  override delete(path: P): boolean {
    if (!super.delete(path)) return false;
    this.#noted.add(path);
    return true;
  }

  clearNotes(): void {
    this.#noted.clear();
  }
}
