import type { IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import { isEditorName } from "../../../core/filter/editor-files.ts";
import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { mayNotBeHeld } from "../../../core/tree/folder-traits.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { SyncBase } from "../../../core/tree/upstream-change.ts";
import type { WriteBackEntry } from "../../../core/records/write-back.ts";
import type { IndexStore, IterationRow } from "../../../storage/index-store.ts";
import { settable, type CyclePath } from "./decide-cycle.ts";
import type { ReplicatedPaths } from "./replicated-paths.ts";
import type { Stood, StoodOn } from "./stood-on.ts";

/** The histories of an origin and of its replica's folder, by which it is found out what they have had in common. */
export interface BothHistories {
  readonly mirror: Pick<IndexStore, "iterationsAt">;
  readonly own: Pick<IndexStore, "iterations" | "protectedPaths">;
  /** Reads what the folder's states stand on. Default: nobody knows. */
  readonly stoodOn?: Pick<StoodOn, "at" | "leftOut" | "broughtBy"> | undefined;
  /** Did this replica write what the origin's event says? */
  readonly isOwn: (seq: number) => Promise<boolean>;
  readonly rules: ReplicatedPaths;
}

/** The same as of a cycle. */
interface CycleHistories extends BothHistories {
  /** Open ones: their paths have bases of their own. */
  readonly conflicts: readonly IdentifiedConflict[];
  /** The folder's own last event. */
  readonly local: number;
}

/** What both sides agreed on of a path that they never had in common. */
export const NEVER: SyncBase = { entry: undefined, seq: 0 };

/** Of a path that was changed more often at the origin, no older state is looked for. */
const MOST_LOOKED_BACK = 50;

/**
 * Some paths may have lain apart on both sides: secrets, until somebody asked for them (`--with-protected`), or took their names off
 * the list; editors' files; any path while a filter withheld it; and what the folder's disk could not hold. Then the origin's state
 * at `applied` is nothing that the folder was reconciled with: the two have in common only what the folder has had, too.
 */
export async function onCommonGround(paths: readonly CyclePath[], sides: CycleHistories): Promise<CyclePath[]> {
  const disputed = new Set(sides.conflicts.map(({ record }) => record.path));
  const ground: CyclePath[] = [];
  let kept: Promise<ReadonlySet<WorkspacePath>> | undefined;
  const once = { ...sides, keptHere: () => (kept ??= onceSecret(sides)) };
  for (const one of paths) {
    const { path, base, local, remote } = one;
    const isAsked = base.entry !== undefined && !sameEntry(local, remote) && !disputed.has(path);
    const common = isAsked ? await commonOf(one, once) : base;
    ground.push(common === base ? one : { ...one, base: common });
  }
  return ground;
}

/** Paths of which some state was recorded here as a secret. */
async function onceSecret({ own }: Pick<BothHistories, "own">): Promise<ReadonlySet<WorkspacePath>> {
  return new Set(await own.protectedPaths());
}

async function commonOf(one: CyclePath, sides: CycleHistories & Pick<Apart, "keptHere">): Promise<SyncBase> {
  const { path, base, local, remote } = one;
  const isFolder = [base.entry, local, remote].some((entry) => entry?.kind === "dir");
  const wasWithheld = sides.rules.wasWithheld(path, isFolder);
  // What was deleted here while the origin's was withheld is no deletion there.
  if (wasWithheld && local === undefined) return NEVER;
  const isDoubtful = wasWithheld || (await mayLieApart(path, [base.entry, local, remote], sides));
  return isDoubtful ? await lastCommon(path, base, { ...sides, upTo: sides.local }) : base;
}

/**
 * Has the folder had the state that a change of its own says to have seen? If it has not, the change is no edit of that state: it stays
 * until a step has compared both sides.
 */
export async function hasHadSeen(
  { path, entry, seen, localSeq }: Pick<WriteBackEntry, "path" | "entry" | "seen" | "localSeq">,
  sides: BothHistories,
): Promise<boolean> {
  const [row] = seen === 0 ? [] : await sides.mirror.iterationsAt([path], seen);
  if (
    row?.entry === undefined ||
    !(await mayLieApart(path, [row.entry, entry], { ...sides, keptHere: () => onceSecret(sides) }))
  )
    return true;
  const common = await lastCommon(path, { entry: row.entry, seq: row.seq }, { ...sides, upTo: localSeq });
  return common.seq === row.seq;
}

/** By what it is known that a path may lie apart. */
interface Apart extends Pick<BothHistories, "rules"> {
  readonly keptHere: () => Promise<ReadonlySet<WorkspacePath>>;
}

async function mayLieApart(
  path: WorkspacePath,
  states: readonly (Entry | undefined)[],
  { rules, keptHere }: Apart,
): Promise<boolean> {
  if (!rules.isShared(path, false)) return false;
  if (rules.isSecret(path) || isEditorName(path)) return true;
  if (states.some((entry) => entry !== undefined && (entry.class === "protected" || mayNotBeHeld(entry)))) return true;
  // A state before these was kept here as a secret, and the origin's of that time were not looked at.
  return (await keptHere()).has(path);
}

/** `upTo`: the own event as of which it is asked. */
interface AsOf extends BothHistories {
  readonly upTo: number;
}

/**
 * The last state that the folder has had of the origin's, up to the base: one that the two were brought together on, or one that both
 * had later, by whomever. Where nobody knows the former, the last one that the folder had at whatever time.
 */
async function lastCommon(path: WorkspacePath, base: SyncBase, sides: AsOf): Promise<SyncBase> {
  const { rows, left, stood } = await readSince(path, sides);
  let [at, earlier]: [SyncBase, SyncBase | undefined] = [base, undefined];
  for (let looked = 0; rows.length > 0 && looked < MOST_LOOKED_BACK; looked += 1) {
    if (at.seq === stood.seq) return at;
    if (at.seq <= left.seq) break;
    if (await sides.isOwn(at.seq)) return at;
    const here = lastSame(rows, at.entry);
    if (here > stood.ownSeq) return at;
    if (here > 0) earlier ??= at;
    const [row] = await sides.mirror.iterationsAt([path], at.seq - 1);
    if (row === undefined) break;
    at = { entry: row.entry, seq: row.seq };
  }
  return earlier ?? NEVER;
}

/** No event says so: none has this number, and none comes before it. */
const NOWHERE: Stood = { ownSeq: 0, seq: -1 };

/** What the folder has had of a path since a step left the origin's state out, if one has, and what that stands on. */
async function readSince(path: WorkspacePath, { own, stoodOn, upTo }: AsOf) {
  const all = (await own.iterations(path)).filter(({ seq }) => seq <= upTo);
  const left = (await stoodOn?.leftOut(path, all)) ?? NOWHERE;
  const rows = all.filter(({ seq }) => seq > left.ownSeq);
  const last = (await stoodOn?.at(path, rows, upTo)) ?? NOWHERE;
  return { rows, left, stood: last.ownSeq > left.ownSeq ? last : NOWHERE };
}

/** The last own event with which the folder had this state; 0: it never had. */
function lastSame(rows: readonly IterationRow[], entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  return rows.findLast((row) => sameEntry(settable(row.entry), settable(entry)))?.seq ?? 0;
}
