import type { Verdict } from "../../core/filter/filter.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { nameOf, parentOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { GitFiles } from "./git-files.ts";
import type { NotedMap } from "./noted-map.ts";

/** The folders in which git keeps its own state, as they were met, by absolute path. */
export type KnownGitFolders = NotedMap<true, string>;

/**
 * The folders in which git keeps its own state, each known by device and inode. Such a folder need not be called `.git`: a
 * repository may be made with `--separate-git-dir`, a bare one may have working trees beside it, a mount gives a second name.
 * It stays known when the `.git` that led to it is gone: what it holds is git's all the same.
 */
export class GitFolders {
  readonly #files: Pick<GitFiles, "peek">;
  readonly #known: KnownGitFolders;
  readonly #devices = new Map<bigint, Set<bigint>>();

  /** Looks at every known folder: one that is gone, or holds no repository's state any more, is forgotten. */
  constructor(files: Pick<GitFiles, "peek">, known: KnownGitFolders) {
    this.#files = files;
    this.#known = known;
    for (const folder of [...known.keys()]) if (!this.#look(folder)) known.delete(folder);
  }

  /** A repository keeps its state in this folder. */
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

/** Why a path that lies in such a folder is not tracked. */
export const GITS: Verdict = { tracked: false, rule: "git" };

/** Was this folder of git's taken in on purpose, by its own name? */
export function isTakenIn(folder: WorkspacePath, { rule, pattern = "" }: Verdict): boolean {
  return rule === "force-include" && pattern.split("/").includes(nameOf(folder));
}

/** What one look at a root works with. */
interface GitsOwnParts {
  readonly fs: Pick<ConfinedFs, "peek">;
  readonly folders: GitFolders;
  /** Is the folder recorded? What is, goes on being recorded: a `.git` can be made to lead to any folder. */
  readonly isRecorded: (path: WorkspacePath) => boolean;
}

/** A path that was looked at. */
interface Looked {
  readonly isFolder: boolean;
  /** The outermost such folder that holds it, or is it. */
  readonly top: WorkspacePath | undefined;
  /** It lies in one that is recorded, or is it. */
  readonly isRecorded: boolean;
}

/** Says which paths beneath one root lie in such a folder, unless that is recorded; each path is looked at once. */
export class GitsOwn {
  readonly #parts: GitsOwnParts;
  readonly #looked = new Map<WorkspacePath, Looked>([[ROOT, { isFolder: true, top: undefined, isRecorded: false }]]);

  constructor(parts: GitsOwnParts) {
    this.#parts = parts;
  }

  /** The outermost such folder that holds the path, or is it. */
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

  /** Beneath what is no folder there is nothing. */
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
