import { isGitName } from "../../../core/filter/git-name.ts";
import { foldersAbove, nameOf, parentOf, splitRoot, type WorkspacePath } from "../../../core/values/path.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";

/** On which sides a path is. */
export interface SidesOf {
  readonly here: boolean;
  readonly there: boolean;
}

/** Names the outermost folder of git's own that holds a path on this side's disk, whatever it is called. */
export type GitTopOf = (path: WorkspacePath) => WorkspacePath | undefined;

/**
 * Knows which state of git repositories the two histories hold, which is replicated neither way: each by its topmost name (`.git`, or
 * what some disk takes for it; or what the folder's own disk knows as one). Such a name stands in a history that took it in on
 * purpose, is older than the rule, or is an ordinary folder on the other side.
 */
export class GitPaths {
  readonly #found = new Map<WorkspacePath, SidesOf>();
  readonly #onDisk: () => GitTopOf;
  #topOf: GitTopOf = () => undefined;

  /** `onDisk`: looks at the disk as it is then. */
  constructor(onDisk: () => GitTopOf) {
    this.#onDisk = onDisk;
  }

  /** The disk is looked at anew. */
  begin(): void {
    this.#topOf = this.#onDisk();
  }

  /** Does the path lie in what git keeps on this side's disk under a name of its own? A folder may be that itself. */
  holds(path: WorkspacePath, isFolder: boolean): boolean {
    return this.#topOf(isFolder ? path : parentOf(path)) !== undefined;
  }

  /** What is left out, as far as it was looked at. */
  get leftOut(): ReadonlyMap<WorkspacePath, SidesOf> {
    return this.#found;
  }

  /** A path was looked at. */
  note({ path, local, remote }: Pick<CyclePath, "path" | "local" | "remote">): void {
    if (splitRoot(path).root !== undefined) return;
    const isFolder = local?.kind === "dir" || remote?.kind === "dir";
    const isGits = isGitName(nameOf(path)) || (isFolder && this.#topOf(path) === path);
    if (isGits && foldersAbove(path).some((folder) => isGitName(nameOf(folder)))) return;
    if (!isGits || (local === undefined && remote === undefined)) this.#found.delete(path);
    else this.#found.set(path, { here: local !== undefined, there: remote !== undefined });
  }
}
