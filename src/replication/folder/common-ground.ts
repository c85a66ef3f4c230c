import type { IdentifiedConflict } from "../../core/conflict-record.ts";
import { sameEntry, type Entry } from "../../core/entry.ts";
import type { WorkspacePath } from "../../core/path.ts";
import type { SyncBase } from "../../core/upstream-change.ts";
import type { IndexStore, IterationRow } from "../../storage/index-store.ts";
import { settable, type CyclePath } from "./decide-cycle.ts";
import type { ReplicatedPaths } from "./replicated-paths.ts";

/** Where it is found out what a folder and its origin have had in common. */
interface BothHistories {
  readonly mirror: Pick<IndexStore, "iterationsAt">;
  readonly own: Pick<IndexStore, "iterations">;
  /** The origin's event whose state came into the folder with this own event; `undefined`: none did, or nobody knows. Default: nobody knows. */
  readonly originsEvent?: ((path: WorkspacePath, ownSeq: number) => Promise<number | undefined>) | undefined;
  /** Did this replica write what the origin's event says? */
  readonly isOwn: (seq: number) => Promise<boolean>;
  /** Open ones: their paths have bases of their own. */
  readonly conflicts: readonly IdentifiedConflict[];
  readonly rules: ReplicatedPaths;
}

/** What both sides agreed on of a path that they never had in common. */
export const NEVER: SyncBase = { entry: undefined, seq: 0 };

/** Of a path that was changed more often at the origin, no older state is looked for. */
const MOST_LOOKED_BACK = 50;

/**
 * A secret may have lain apart on both sides, until somebody asked for it (`--with-protected`), and any path while a filter withheld it.
 * Then the origin's state at `applied` is nothing that the folder was reconciled with: the two have in common only what the folder has
 * had, too.
 */
export async function onCommonGround(paths: readonly CyclePath[], sides: BothHistories): Promise<CyclePath[]> {
  const disputed = new Set(sides.conflicts.map(({ record }) => record.path));
  const ground: CyclePath[] = [];
  for (const one of paths) {
    const { path, base, local, remote } = one;
    const isAsked = base.entry !== undefined && !sameEntry(local, remote) && !disputed.has(path);
    const common = isAsked ? await commonOf(one, sides) : base;
    ground.push(common === base ? one : { ...one, base: common });
  }
  return ground;
}

async function commonOf(one: CyclePath, sides: BothHistories): Promise<SyncBase> {
  const { path, base, local, remote } = one;
  const isFolder = [base.entry, local, remote].some((entry) => entry?.kind === "dir");
  const wasWithheld = sides.rules.wasWithheld(path, isFolder);
  // What was deleted here while the origin's was withheld is no deletion there.
  if (wasWithheld && local === undefined) return NEVER;
  return wasWithheld || mayLieApart(one, sides) ? await lastCommon(path, base, sides) : base;
}

function mayLieApart({ path, base, local, remote }: CyclePath, { rules }: BothHistories): boolean {
  if (!rules.isShared(path, false)) return false;
  return rules.isSecret(path) || [base.entry, local, remote].some((entry) => entry?.class === "protected");
}

/**
 * The last state that one side has had from the other, up to the base; where nobody knows that, the last one that the origin had up to
 * then, and the folder at whatever time.
 */
async function lastCommon(path: WorkspacePath, base: SyncBase, sides: BothHistories): Promise<SyncBase> {
  const rows = await sides.own.iterations(path);
  const states = rows.flatMap(({ entry }) => entry ?? []);
  const wasHere = (entry: Entry): boolean => states.some((one) => sameEntry(settable(one), settable(entry)));
  const brought = await lastBrought(path, rows, sides);
  let [at, same]: [SyncBase, SyncBase | undefined] = [base, undefined];
  for (let looked = 0; states.length > 0 && looked < MOST_LOOKED_BACK; looked += 1) {
    if (at.seq === brought || (await sides.isOwn(at.seq))) return at;
    if (at.entry !== undefined && wasHere(at.entry)) same ??= at;
    const [row] = await sides.mirror.iterationsAt([path], at.seq - 1);
    if (row === undefined) break;
    at = { entry: row.entry, seq: row.seq };
  }
  return same ?? NEVER;
}

/** The origin's event whose state was the last one that came into the folder. */
async function lastBrought(
  path: WorkspacePath,
  rows: readonly IterationRow[],
  { originsEvent }: BothHistories,
): Promise<number | undefined> {
  for (const { seq } of rows.slice(-MOST_LOOKED_BACK).toReversed()) {
    const brought = await originsEvent?.(path, seq);
    if (brought !== undefined) return brought;
  }
  return undefined;
}
