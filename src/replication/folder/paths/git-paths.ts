import { isGitName } from "../../../core/filter/git-name.ts";
import { foldersAbove, nameOf, parentOf, splitRoot, type WorkspacePath } from "../../../core/values/path.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";

/** The sides that have a path. */
export interface SidesOf {
  readonly here: boolean;
  readonly there: boolean;
}

/**
 * Returns the outermost folder, at or above the path, that holds git's own state on this side's disk. Returns
 * `undefined` if there is no such folder.
 */
export type GitTopOf = (path: WorkspacePath) => WorkspacePath | undefined;

/**
 * The topmost paths of git's own state in the two histories. These paths are not replicated in either direction. A path
 * belongs to git's own state in two cases: its name means `.git` on some disks, or a repository on this side's disk
 * keeps its state at the path. A history has such a path in three cases: the path was included by name, it was recorded
 * before this rule existed, or it is an ordinary folder on the other side.
 */
export class GitPaths {
  readonly #found = new Map<WorkspacePath, SidesOf>();
  readonly #onDisk: () => GitTopOf;
  #topOf: GitTopOf = () => undefined;

  /** `onDisk` reads the folders with git's own state from the disk, and returns a function that looks up a path. */
  constructor(onDisk: () => GitTopOf) {
    this.#onDisk = onDisk;
  }

  /** Reads again which folders on the disk hold git's own state. */
  begin(): void {
    this.#topOf = this.#onDisk();
  }

  /**
   * True if, on this side's disk, a folder above the path holds git's own state, whatever the folder's name. For a
   * folder (`isFolder`), also true if the path itself holds git's own state.
   */
  holds(path: WorkspacePath, isFolder: boolean): boolean {
    return this.#topOf(isFolder ? path : parentOf(path)) !== undefined;
  }

  get leftOut(): ReadonlyMap<WorkspacePath, SidesOf> {
    return this.#found;
  }

  note({ path, local, remote }: Pick<CyclePath, "path" | "local" | "remote">): void {
    if (splitRoot(path).root !== undefined) return;
    const isFolder = local?.kind === "dir" || remote?.kind === "dir";
    const isGitState = isGitName(nameOf(path)) || (isFolder && this.#topOf(path) === path);
    if (isGitState && foldersAbove(path).some((folder) => isGitName(nameOf(folder)))) return;
    if (!isGitState || (local === undefined && remote === undefined)) this.#found.delete(path);
    else this.#found.set(path, { here: local !== undefined, there: remote !== undefined });
  }
}
