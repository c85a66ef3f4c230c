import { isGitName } from "../../../core/filter/git-name.ts";
import { foldersAbove, nameOf, parentOf, splitRoot, type WorkspacePath } from "../../../core/values/path.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";

/** The sides on which a path is. */
export interface SidesOf {
  readonly here: boolean;
  readonly there: boolean;
}

/** Returns the outermost folder of git's own that holds a path on this side's disk, whatever its name. */
export type GitTopOf = (path: WorkspacePath) => WorkspacePath | undefined;

/**
 * Knows the state of git repositories in the two histories, which is replicated neither way: each by its topmost name
 * (`.git`, or what some disk takes for it; or what the folder's own disk knows as one). A history holds such a name if
 * it took it in on purpose, is older than the rule, or if it is an ordinary folder on the other side.
 */
export class GitPaths {
  readonly #found = new Map<WorkspacePath, SidesOf>();
  readonly #onDisk: () => GitTopOf;
  #topOf: GitTopOf = () => undefined;

  /** `onDisk`: reads the state of the disk when called. */
  constructor(onDisk: () => GitTopOf) {
    this.#onDisk = onDisk;
  }

  /** Rereads the disk. */
  begin(): void {
    this.#topOf = this.#onDisk();
  }

  /**
   * True if the path lies in what git keeps on this side's disk under a name of its own. A folder may be that itself.
   */
  holds(path: WorkspacePath, isFolder: boolean): boolean {
    return this.#topOf(isFolder ? path : parentOf(path)) !== undefined;
  }

  /** The paths left out, as far as they were noted. */
  get leftOut(): ReadonlyMap<WorkspacePath, SidesOf> {
    return this.#found;
  }

  /** Notes the states of a path. */
  note({ path, local, remote }: Pick<CyclePath, "path" | "local" | "remote">): void {
    if (splitRoot(path).root !== undefined) return;
    const isFolder = local?.kind === "dir" || remote?.kind === "dir";
    const isGits = isGitName(nameOf(path)) || (isFolder && this.#topOf(path) === path);
    if (isGits && foldersAbove(path).some((folder) => isGitName(nameOf(folder)))) return;
    if (!isGits || (local === undefined && remote === undefined)) this.#found.delete(path);
    else this.#found.set(path, { here: local !== undefined, there: remote !== undefined });
  }
}
