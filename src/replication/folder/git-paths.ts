import { isGitName } from "../../core/git-name.ts";
import { foldersAbove, nameOf, splitRoot, type WorkspacePath } from "../../core/path.ts";
import type { CyclePath } from "./decide-cycle.ts";

/** On which sides a path is. */
export interface SidesOf {
  readonly here: boolean;
  readonly there: boolean;
}

/**
 * Knows which state of git repositories the two histories hold, which is replicated neither way: each by its topmost name (`.git`, or
 * what some disk takes for it). Such a name stands in a history that took it in on purpose, or is older than the rule.
 */
export class GitPaths {
  readonly #found = new Map<WorkspacePath, SidesOf>();

  /** What is left out, as far as it was looked at. */
  get leftOut(): ReadonlyMap<WorkspacePath, SidesOf> {
    return this.#found;
  }

  /** A path was looked at. */
  note({ path, local, remote }: Pick<CyclePath, "path" | "local" | "remote">): void {
    if (!isGitName(nameOf(path)) || splitRoot(path).root !== undefined) return;
    if (foldersAbove(path).some((folder) => isGitName(nameOf(folder)))) return;
    if (local === undefined && remote === undefined) this.#found.delete(path);
    else this.#found.set(path, { here: local !== undefined, there: remote !== undefined });
  }
}
