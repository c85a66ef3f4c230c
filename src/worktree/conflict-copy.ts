import type { WorkspacePath } from "../core/path.ts";
import type { Step } from "./apply-step.ts";
import { errnoOf } from "../core/errors.ts";
import { childOf, nameOf, parentOf, pathInRoot } from "../core/path.ts";

/** Where conflict copies are noted. */
export interface ConflictList {
  readonly token: string;
  readonly conflicts: { readonly path: WorkspacePath; readonly keptAt: WorkspacePath }[];
}

/**
 * Gives a file from the trash, written by somebody at the last moment, a free name beside its path; further up where
 * its folder is gone.
 */
export function keepConflict(list: ConflictList, step: Step, trashed: WorkspacePath): void {
  const { fs, staging, root } = step.root;
  let folder = parentOf(step.inner);
  while (folder !== "" && fs.lstat(folder)?.kind !== "dir") folder = parentOf(folder);
  const base = `${nameOf(step.inner)}.conflict-${list.token.slice(-8).toLowerCase()}`;
  for (let n = 1; ; n += 1) {
    const kept = childOf(folder, n === 1 ? base : `${base}-${n}`);
    if (fs.lstat(kept) !== undefined) continue;
    try {
      staging.trash.link(trashed, kept, fs);
    } catch (error) {
      if (errnoOf(error) === "EEXIST") continue;
      staging.trash.renameFile(trashed, kept, fs);
    }
    list.conflicts.push({ path: step.path, keptAt: pathInRoot(root.id, kept) });
    return;
  }
}
