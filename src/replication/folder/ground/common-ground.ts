import type { IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import { isEditorName } from "../../../core/filter/editor-names.ts";
import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { mayNotBeHeld } from "../../../core/tree/folder-traits.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import type { SyncBase } from "../../../core/tree/upstream-change.ts";
import type { WriteBackEntry } from "../../../core/records/write-back.ts";
import type { IndexStore, IterationRow } from "../../../storage/index-store.ts";
import { settable, type CyclePath } from "./decide-cycle.ts";
import type { ReplicatedPaths } from "./replicated-paths.ts";
import type { Stood, StoodOn } from "./stood-on.ts";

export interface BothHistories {
  readonly mirror: Pick<IndexStore, "iterationsAt">;
  readonly own: Pick<IndexStore, "iterations" | "protectedPaths">;
  /** Finds the states of the origin on which the folder's states are based. Omitted if these states are unknown. */
  readonly stoodOn?: Pick<StoodOn, "at" | "leftOut" | "broughtBy"> | undefined;
  /** True if this replica wrote the state that the origin recorded with this event. */
  readonly isOwn: (seq: number) => Promise<boolean>;
  readonly rules: ReplicatedPaths;
}

interface CycleHistories extends BothHistories {
  /** The open conflicts. The bases of their paths are not corrected, because each conflict's record holds a base. */
  readonly conflicts: readonly IdentifiedConflict[];
  readonly local: number;
}

/** The base of a path if no state of the path was ever on both sides. */
export const NEVER: SyncBase = { entry: undefined, seq: 0 };

/** The maximum number of the origin's last changes of a path that are searched. */
const MOST_LOOKED_BACK = 50;

/**
 * Corrects the bases of paths that may have existed on both sides without being reconciled:
 * - secrets, until a person asked for them by `--with-protected` or took their names off the list;
 * - editors' files;
 * - any path while a filter withheld it;
 * - paths that the folder's disk could not hold.
 *
 * The base of such a path may be a state of the origin that the folder never had. This function replaces such a base by
 * the last state of the origin that the folder has also had.
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

/** Returns the paths at which the folder has ever recorded a state as a secret. */
async function onceSecret({ own }: Pick<BothHistories, "own">): Promise<ReadonlySet<WorkspacePath>> {
  return new Set(await own.protectedPaths());
}

async function commonOf(one: CyclePath, sides: CycleHistories & Pick<Apart, "keptHere">): Promise<SyncBase> {
  const { path, base, local, remote } = one;
  const isFolder = [base.entry, local, remote].some((entry) => entry?.kind === "dir");
  const wasWithheld = sides.rules.wasWithheld(path, isFolder);
  // If the folder has deleted its own file while the path was withheld, the origin's file must not be deleted.
  if (wasWithheld && local === undefined) return NEVER;
  const isDoubtful = wasWithheld || (await mayLieApart(path, [base.entry, local, remote], sides));
  return isDoubtful ? await lastCommon(path, base, { ...sides, upTo: sides.local }) : base;
}

/**
 * True if the folder has had the state of the origin's event `seen`. A change in the folder claims to be based on this
 * state. Also true if there is no reason to doubt the claim. If false, the change stays in the folder until a step (one
 * reconciliation) has compared both sides.
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
  // While the path was a secret in the folder, its states there were not compared with the origin's.
  return (await keptHere()).has(path);
}

interface AsOf extends BothHistories {
  readonly upTo: number;
}

/**
 * Returns the last state of the origin that the folder has also had, and that is not later than the base:
 * - the state in which both sides were last reconciled, or a later state that both sides have had;
 * - if no reconciliation is known, the last state that the folder had at any time;
 * - if no such state is found, `NEVER`.
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

/** The value that stands for "no event". Its `seq` is lower than that of any event. */
const NOWHERE: Stood = { ownSeq: 0, seq: -1 };

/**
 * Returns the folder's iterations of a path (`rows`), the last step that removed the path because the folder could not
 * hold the origin's state (`left`, see `StoodOn.leftOut`), and the event on which the folder's state is based
 * (`stood`). Iterations from before `left` are left out.
 */
async function readSince(path: WorkspacePath, { own, stoodOn, upTo }: AsOf) {
  const all = (await own.iterations(path)).filter(({ seq }) => seq <= upTo);
  const left = (await stoodOn?.leftOut(path, all)) ?? NOWHERE;
  const rows = all.filter(({ seq }) => seq > left.ownSeq);
  const last = (await stoodOn?.at(path, rows, upTo)) ?? NOWHERE;
  return { rows, left, stood: last.ownSeq > left.ownSeq ? last : NOWHERE };
}

/** Returns the seq of the folder's last event with this state, or 0. */
function lastSame(rows: readonly IterationRow[], entry: Entry | undefined): number {
  if (entry === undefined) return 0;
  return rows.findLast((row) => sameEntry(settable(row.entry), settable(entry)))?.seq ?? 0;
}
