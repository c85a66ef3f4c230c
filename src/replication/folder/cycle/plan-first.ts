import type { Entry } from "../../../core/values/entry.ts";
import { findCollisions, type NameRules } from "../../../core/tree/find-collisions.ts";
import { isWithin, ROOT, type WorkspacePath } from "../../../core/values/path.ts";
import type { SyncBase, UpstreamChange } from "../../../core/tree/upstream-change.ts";
import type { IndexStore } from "../../../storage/index-store.ts";
import { settable } from "../ground/decide-cycle.ts";
import type { CyclePlan } from "./plan-cycle.ts";
import type { CycleSides } from "./read-cycle.ts";

export interface FirstSides extends Pick<
  CycleSides,
  "applied" | "local" | "head" | "mirror" | "rules" | "editorFiles" | "gitPaths" | "secrets" | "notHeld"
> {
  readonly own: Pick<IndexStore, "touched">;
  readonly nameRules: NameRules | undefined;
}

const NEVER: SyncBase = { entry: undefined, seq: 0 };

/**
 * Plans the first step for a folder that has no recorded path and was never reconciled. Such a folder gets the origin's
 * entries in every mode, so no path needs a decision of its own. `planCycle` would return the same plan (a test checks
 * this), but takes several times as long.
 *
 * Returns `undefined` for any other folder, if names collide, or if only a part of a commit of the origin has arrived.
 */
export async function planFirst(sides: FirstSides): Promise<CyclePlan | undefined> {
  const { own, applied, local, mirror, head, nameRules } = sides;
  if (applied !== 0 || (await own.touched(0, local)).length > 0) return undefined;
  const changes: UpstreamChange[] = [];
  // The last path that is not a folder. If the next path lies beneath it, a part of a commit has not arrived yet.
  let leaf: WorkspacePath | undefined;
  const canHold = sides.notHeld?.canHold() ?? (() => true);
  for await (const rows of mirror.entriesAt(head)) {
    for (const { path, seq, iteration, entry } of rows) {
      if (!(await mayCome(sides, path, entry)) || !canHold(path, entry)) continue;
      if (leaf !== undefined && isWithin(path, leaf)) return undefined;
      if (entry?.kind !== "dir") leaf = path;
      const after = settable(entry);
      changes.push({ path, before: undefined, after, base: NEVER, cause: "replica", upstream: { seq, iteration } });
    }
  }
  const collide = nameRules !== undefined && findCollisions(pathsOf(changes), nameRules).length > 0;
  return collide ? undefined : { changes, proposals: [], conflicts: [] };
}

/** True if the folder is to get the origin's entry, as far as its disk can hold this entry. */
async function mayCome(
  { rules, editorFiles, gitPaths, secrets }: FirstSides,
  path: WorkspacePath,
  entry: Entry | undefined,
): Promise<boolean> {
  const sides = { path, local: undefined, remote: entry };
  gitPaths?.note(sides);
  secrets?.note(sides);
  const isFolder = entry?.kind === "dir";
  const isShared = rules.isShared(path, isFolder) && !rules.keepsApart(sides);
  if (path === ROOT || !isShared || gitPaths?.holds(path, isFolder) === true) return false;
  return (await editorFiles?.judge(sides)) !== "left-out";
}

function pathsOf(changes: readonly UpstreamChange[]): WorkspacePath[] {
  return changes.map(({ path }) => path);
}
