import type { Change } from "../../core/values/change.ts";
import type { Entry } from "../../core/values/entry.ts";
import { heldEntry, type FolderTraits } from "../../core/tree/folder-traits.ts";
import { isRoot, parentOf, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { changeBetween } from "../../core/tree/plan.ts";
import type { Worktree } from "../../worktree/worktree.ts";

/** Maps the states found on disk to recorded states: a trait that the folder cannot hold is no change. */
export class HeldStates {
  readonly #worktree: Pick<Worktree, "traitsOf">;
  readonly #gone: ReadonlySet<WorkspacePath>;
  readonly #traits = new Map<string | undefined, FolderTraits>();

  /** `gone`: all paths that were found to be gone. */
  constructor(worktree: Pick<Worktree, "traitsOf">, gone: ReadonlySet<WorkspacePath> = new Set()) {
    this.#worktree = worktree;
    this.#gone = gone;
  }

  changeBetween(path: WorkspacePath, recorded: Entry | undefined, found: Entry | undefined): Change | undefined {
    const traits = this.#traitsOf(path);
    if (found === undefined && this.#isLackedOnly(path, recorded, traits)) return undefined;
    return changeBetween(path, recorded, heldEntry(traits, found, recorded));
  }

  /** Returns the recorded state of an entry that is not recorded yet. */
  foundFirst(found: Entry): Entry {
    return heldEntry(this.#traitsOf(found.path), found) ?? found;
  }

  /** A link that is not there, where there are none: that nobody has removed it. Unless its folder is gone. */
  #isLackedOnly(path: WorkspacePath, recorded: Entry | undefined, { symlinks }: FolderTraits): boolean {
    if (symlinks || recorded?.kind !== "symlink") return false;
    const folder = parentOf(path);
    return isRoot(folder) || !this.#gone.has(folder);
  }

  #traitsOf(path: WorkspacePath): FolderTraits {
    const { root } = splitRoot(path);
    let traits = this.#traits.get(root);
    if (traits === undefined) this.#traits.set(root, (traits = this.#worktree.traitsOf(path)));
    return traits;
  }
}
