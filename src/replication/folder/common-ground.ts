import type { IdentifiedConflict } from "../../core/conflict-record.ts";
import { sameEntry, type Entry } from "../../core/entry.ts";
import type { WorkspacePath } from "../../core/path.ts";
import type { SyncBase } from "../../core/upstream-change.ts";
import type { IndexStore } from "../../storage/index-store.ts";
import { settable, type CyclePath } from "./decide-cycle.ts";
import type { ReplicatedPaths } from "./replicated-paths.ts";

/** Where it is found out what a folder and its origin have had in common. */
interface BothHistories {
  readonly mirror: Pick<IndexStore, "iterationsAt">;
  readonly own: Pick<IndexStore, "iterations">;
  /** Open ones: their paths have bases of their own. */
  readonly conflicts: readonly IdentifiedConflict[];
  readonly rules: ReplicatedPaths;
}

/** What both sides agreed on of a path that they never had in common. */
export const NEVER: SyncBase = { entry: undefined, seq: 0 };

/** Of a path that was changed more often at the origin, no older state is looked for. */
const MOST_LOOKED_BACK = 50;

/**
 * A secret may have lain apart on both sides, until somebody asked for it (`--with-protected`). Then the origin's state at `applied` is
 * nothing that the folder was reconciled with: the two have in common only what the folder has had, too.
 */
export async function onCommonGround(paths: readonly CyclePath[], sides: BothHistories): Promise<CyclePath[]> {
  const disputed = new Set(sides.conflicts.map(({ record }) => record.path));
  const ground: CyclePath[] = [];
  for (const one of paths) {
    const { path, base, local, remote } = one;
    const isAsked = base.entry !== undefined && !sameEntry(local, remote) && !disputed.has(path);
    const common = isAsked && mayLieApart(one, sides) ? await lastCommon(path, base, sides) : base;
    ground.push(common === base ? one : { ...one, base: common });
  }
  return ground;
}

function mayLieApart({ path, base, local, remote }: CyclePath, { rules }: BothHistories): boolean {
  if (!rules.isShared(path, false)) return false;
  return rules.isSecret(path) || [base.entry, local, remote].some((entry) => entry?.class === "protected");
}

/** The last state that the origin had of a path up to its base, and the folder at whatever time. */
async function lastCommon(path: WorkspacePath, base: SyncBase, { own, mirror }: BothHistories): Promise<SyncBase> {
  const states = (await own.iterations(path)).flatMap(({ entry }) => entry ?? []);
  const isOwn = (entry: Entry): boolean => states.some((one) => sameEntry(settable(one), settable(entry)));
  let at = base;
  for (let looked = 0; states.length > 0 && looked < MOST_LOOKED_BACK; looked += 1) {
    if (at.entry !== undefined && isOwn(at.entry)) return looked === 0 ? base : at;
    const [row] = await mirror.iterationsAt([path], at.seq - 1);
    if (row === undefined) break;
    at = { entry: row.entry, seq: row.seq };
  }
  return NEVER;
}
