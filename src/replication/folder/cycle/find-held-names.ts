import { findCollisions, type NameRules } from "../../../core/tree/find-collisions.ts";
import { parentOf, type WorkspacePath } from "../../../core/values/path.ts";
import type { IndexStore } from "../../../storage/index-store.ts";
import { createdPaths, type SettledDecision } from "../ground/decide-cycle.ts";

/** The name rules of a folder on disk, and its entries. */
export interface NameGround {
  /** `undefined`: all names are distinct. */
  readonly rules: NameRules | undefined;
  readonly index: Pick<IndexStore, "childrenAt">;
  /** The folder's own last event. */
  readonly local: number;
}

/** Returns the new paths whose names collide with others that the folder has or gets: they cannot come. */
export async function findHeldNames(
  decisions: readonly SettledDecision[],
  { rules, index, local }: NameGround,
): Promise<WorkspacePath[]> {
  const created = createdPaths(decisions);
  if (rules === undefined || created.length === 0) return [];
  const gone = new Set(decisions.filter((one) => one.decision.local === undefined).map(({ path }) => path));
  const present = new Set<WorkspacePath>();
  for (const folder of new Set(created.map(parentOf))) {
    for (const { path } of await index.childrenAt(folder, local)) if (!gone.has(path)) present.add(path);
  }
  const isNew = new Set(created);
  return findCollisions([...present, ...created], rules).flatMap((group) => {
    const stays = group.find((path) => !isNew.has(path)) ?? group[0];
    return group.filter((path) => path !== stays && isNew.has(path));
  });
}
