import type { WorkspacePath } from "../../core/values/path.ts";
import type { EarlyTree } from "./early-stage.ts";
import type { ApplyRoot, Step } from "./apply-step.ts";
import type { ApplyRequest } from "../worktree.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { comparePaths } from "../../core/values/path.ts";
import { beneath, foldersOf } from "./early-stage.ts";

/** Early-staged files, moved to where the apply stages. */
export interface AdoptedTree {
  readonly root: ApplyRoot;
  readonly folders: ReadonlySet<WorkspacePath>;
  /** Returns the path of an early-staged file in the staging folder. */
  readonly pathOf: (inner: WorkspacePath) => WorkspacePath;
}

/** Notes in each step that its file is already staged with the right content and mode, and the time that is wanted. */
export function matchEarly(steps: readonly Step[], { files }: EarlyTree, { keepMtime }: ApplyRequest): void {
  if (keepMtime === true) return;
  for (const step of steps) {
    const { after, todo } = step;
    if (step.blocked !== undefined || after?.kind !== "file" || (todo !== "create" && todo !== "replace")) continue;
    const early = step.root.root.id === undefined ? files.get(step.inner) : undefined;
    if (early === undefined || early.entry.hash !== after.hash || early.entry.mode !== after.mode) continue;
    if (early.stat.size === after.size) step.early = early.stat;
  }
}

/**
 * Moves the early-staged files into this apply's prepared staging, which from then on owns them and cleans them up.
 * Removes those that no step needs. Returns `undefined`, and moves nothing, if no step can use any of them.
 */
export function adoptEarly(steps: readonly Step[], tree: EarlyTree): AdoptedTree | undefined {
  const root = steps.find((step) => step.early !== undefined)?.root;
  if (root === undefined || root.staging.fresh.root !== tree.staging.fresh.root) {
    for (const step of steps) step.early = undefined;
    return undefined;
  }
  const { fresh } = root.staging;
  const folder = root.staging.newPath("early");
  fresh.rename(tree.folder, folder);
  const adopted = {
    root,
    folders: foldersOf(tree.files.keys()),
    pathOf: (inner: WorkspacePath) => beneath(folder, inner),
  };
  removeOthers(steps, tree, adopted);
  return adopted;
}

/** Removes files that no step asks for: a folder that is renamed into place must hold nothing else. */
function removeOthers(steps: readonly Step[], { files }: EarlyTree, { root, folders, pathOf }: AdoptedTree): void {
  const { fresh } = root.staging;
  const asked = new Set(steps.filter((step) => step.early !== undefined).map((step) => step.inner));
  const made = new Set(steps.filter((step) => step.root === root && makesFolder(step)).map((step) => step.inner));
  for (const path of files.keys()) if (!asked.has(path)) fresh.unlink(pathOf(path));
  for (const path of [...folders].toSorted(comparePaths).toReversed()) {
    if (made.has(path)) continue;
    try {
      fresh.removeFolder(pathOf(path));
    } catch (error) {
      // It already exists, and leads to files that are asked for.
      const errno = errnoOf(error);
      if (errno !== "ENOTEMPTY" && errno !== "EEXIST") throw error;
    }
  }
}

function makesFolder({ after, blocked, todo }: Step): boolean {
  return after?.kind === "dir" && blocked === undefined && todo === "create";
}
