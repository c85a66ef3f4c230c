import type { ConflictRecord, IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import type { ReplicaHalt } from "../../../core/records/replica-record.ts";
import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { comparePaths, foldersAbove, isWithin, ROOT, type WorkspacePath } from "../../../core/values/path.ts";
import type { SyncBase } from "../../../core/tree/upstream-change.ts";
import type { IndexStore, IterationRow } from "../../../storage/index-store.ts";
import { yieldToEventLoop, withBreaths } from "../../../util/yield-to-event-loop.ts";
import { NEVER, onCommonGround, type BothHistories } from "../ground/common-ground.ts";
import type { CyclePath } from "../ground/decide-cycle.ts";
import type { EditorFiles } from "../paths/editor-files.ts";
import type { GitPaths } from "../paths/git-paths.ts";
import type { SecretPaths } from "../paths/secret-paths.ts";
import type { NotHeldPaths } from "../paths/not-held-paths.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

/** A mirror, or a workspace's own index. */
export type FileHistory = Pick<IndexStore, "iterationsAt"> & {
  entriesAt(seq: number, beneath?: WorkspacePath): AsyncIterable<readonly IterationRow[]>;
};

export interface CycleSides {
  readonly mirror: FileHistory;
  readonly own: FileHistory & Pick<IndexStore, "iterations" | "protectedPaths">;
  /** The origin's event up to which the folder is reconciled. */
  readonly applied: number;
  /** The origin's event as of which the mirror is read. */
  readonly head: number;
  /** The event of the folder's own log as of which the folder is read. */
  readonly local: number;
  /** The open conflicts. The bases of their paths, and of the paths beneath them, can be older than `applied`. */
  readonly conflicts: readonly IdentifiedConflict[];
  readonly rules: ReplicatedPaths;
  /** True if this replica wrote the state that the origin recorded with this event. */
  readonly isOwn: (seq: number) => Promise<boolean>;
  /** Finds the origin's states on which the folder's states are based. Default: these states are unknown. */
  readonly stoodOn?: BothHistories["stoodOn"];
  /**
   * True if the origin has an erasure after `applied`. The folder may have recorded paths as deleted because of this
   * erasure (see `onErasedGround`). Default: false.
   */
  readonly mayHaveLeft?: boolean;
  /**
   * Returns true if the folder's deletion of this path is on its way to the origin, was refused there, or was settled
   * by a person. `upstreamSeq` is the path's last event at the origin. Default: false.
   */
  readonly isDeleting?: ((path: WorkspacePath, upstreamSeq: number) => boolean) | undefined;
  readonly editorFiles?: Pick<EditorFiles, "judge" | "looksMade" | "leftOut"> | undefined;
  /** Takes note of the compared paths, and finds those that are a repository's own state. */
  readonly gitPaths?: Pick<GitPaths, "note" | "holds"> | undefined;
  /** Takes note of the compared paths, and finds the secrets that stay on their side. */
  readonly secrets?: Pick<SecretPaths, "note"> | undefined;
  /** Default: the folder's disk can hold everything. */
  readonly notHeld?: Pick<NotHeldPaths, "sides" | "canHold"> | undefined;
}

/** The number of paths that are read at once. Other work can run between two batches. */
const BATCH = 2_048;

/** The maximum number of a path's last changes at the origin that are searched for a change by this replica. */
const MOST_LOOKED_BACK = 50;

/**
 * Reads the states of the touched paths, and of all paths that are needed to decide about the touched paths. The
 * folders above each touched path are needed. Everything beneath a path is needed if the path is in conflict, or if it
 * is a folder in some of its three states (base, local, remote) but not in all. Leaves out paths that the folder and
 * its origin do not share.
 */
export async function readCycle(sides: CycleSides, touched: Iterable<WorkspacePath>): Promise<CyclePath[]> {
  const found = new Map<WorkspacePath, CyclePath>();
  await readInto(found, withFolders(touched), sides);
  // While a path is in conflict, the paths beneath it keep their states. When the conflict ends, these paths need a
  // decision.
  const held = sides.conflicts
    .filter(({ record }) => record.sync?.since !== undefined)
    .map(({ record }) => record.path);
  const uneven = [...held, ...[...found.values()].filter(isUneven).map(({ path }) => path)];
  const beneath = new Set<WorkspacePath>();
  for (const folder of outermost(uneven)) await addBeneath(beneath, folder, sides);
  for (const path of found.keys()) beneath.delete(path);
  await readInto(found, beneath, sides);
  const common = await onCommonGround(await withoutEditorFiles(found.values(), sides), sides);
  const { rules, notHeld, gitPaths, secrets } = sides;
  for (const one of found.values()) {
    gitPaths?.note(one);
    secrets?.note(one);
  }
  const ground = await onOwnGround(await onErasedGround(common, sides), sides);
  const all = notHeld === undefined ? ground : notHeld.sides(ground);
  return all.filter((one) => {
    const mayBeFolder = statesOf(one).some(isFolder);
    const isShared = rules.isShared(one.path, mayBeFolder) && !rules.keepsApart(one);
    return isShared && gitPaths?.holds(one.path, mayBeFolder) !== true;
  });
}

/**
 * Leaves out editors' own files, which stay on their side. Removes the base of editors' files that both sides have
 * created independently.
 */
async function withoutEditorFiles(
  paths: Iterable<CyclePath>,
  { editorFiles, rules }: CycleSides,
): Promise<CyclePath[]> {
  if (editorFiles === undefined) return [...paths];
  const kept: CyclePath[] = [];
  for (const one of paths) {
    const judged = rules.isShared(one.path, statesOf(one).some(isFolder)) ? await editorFiles.judge(one) : "goes";
    if (judged === "goes") kept.push(one);
    if (judged === "apart") kept.push({ ...one, base: NEVER });
  }
  return kept;
}

/**
 * Corrects the base of paths that both sides have stopped recording because of an erasure at the origin. Both sides
 * have recorded such a path as deleted, so the corrected base is the absence. An entry that the origin has recorded at
 * the path since is new, and was not deleted in the folder.
 */
async function onErasedGround(paths: readonly CyclePath[], sides: CycleSides): Promise<readonly CyclePath[]> {
  if (sides.mayHaveLeft !== true) return paths;
  const disputed = new Set(sides.conflicts.map(({ record }) => record.path));
  const ground: CyclePath[] = [];
  for (const one of paths) {
    const { path, base, local, remote } = one;
    const isGoneHere = base.entry !== undefined && local === undefined && remote !== undefined;
    const [row] = isGoneHere && !disputed.has(path) ? await sides.own.iterationsAt([path], sides.local) : [];
    const left = row === undefined ? undefined : await sides.stoodOn?.broughtBy(path, row.seq);
    ground.push(left === undefined || left <= base.seq ? one : { ...one, base: { entry: undefined, seq: left } });
  }
  return ground;
}

/**
 * Moves the base of a path to the last state that this replica has written to the origin since both sides agreed. Both
 * present states descend from that state. With the older base, this replica's own edit would seem to conflict with a
 * later deletion in the folder, or with a later change at the origin.
 */
async function onOwnGround(paths: Iterable<CyclePath>, sides: CycleSides): Promise<CyclePath[]> {
  const ground: CyclePath[] = [];
  for (const one of paths) {
    const { base, local, remote } = one;
    const isContested = !sameEntry(local, remote) && !sameEntry(base.entry, remote);
    const own = isContested ? await lastOwn(one, sides) : undefined;
    ground.push(own === undefined ? one : { ...one, base: own });
  }
  return ground;
}

async function lastOwn({ path, base, judgedTo = 0, upstream }: CyclePath, sides: CycleSides) {
  const least = Math.max(base.seq, judgedTo);
  let seq = upstream?.seq ?? 0;
  for (let looked = 0; seq > least && looked < MOST_LOOKED_BACK; looked += 1) {
    const [row] = await sides.mirror.iterationsAt([path], seq);
    if (row === undefined || row.seq <= least) return undefined;
    if (await sides.isOwn(row.seq)) return { entry: row.entry, seq: row.seq };
    seq = row.seq - 1;
  }
  return undefined;
}

function withFolders(touched: Iterable<WorkspacePath>): Set<WorkspacePath> {
  const paths = new Set<WorkspacePath>();
  for (const given of touched) {
    for (const path of [given, ...foldersAbove(given)]) {
      if (paths.has(path)) break;
      paths.add(path);
    }
  }
  return paths;
}

/** Returns the paths that are not beneath another path of the list. */
export function outermost(paths: readonly WorkspacePath[]): WorkspacePath[] {
  const tops: WorkspacePath[] = [];
  for (const path of paths.toSorted(comparePaths)) {
    const last = tops.at(-1);
    if (last === undefined || !isWithin(path, last)) tops.push(path);
  }
  return tops;
}

function statesOf({ base, local, remote }: CyclePath): (Entry | undefined)[] {
  return [base.entry, local, remote];
}

function isFolder(entry: Entry | undefined): boolean {
  return entry?.kind === "dir";
}

/** True if the path is a folder in some of its three states, but not in all. The paths beneath it are then needed. */
function isUneven(path: CyclePath): boolean {
  const folders = statesOf(path).filter(isFolder).length;
  return folders > 0 && folders < 3;
}

async function addBeneath(paths: Set<WorkspacePath>, folder: WorkspacePath, sides: CycleSides): Promise<void> {
  const { mirror, own, applied, head, local } = sides;
  const older = sides.conflicts.flatMap(({ record }) => {
    const isNear = isWithin(record.path, folder) || isWithin(folder, record.path);
    return isNear ? (record.sync?.since ?? []) : [];
  });
  const trees = [own.entriesAt(local, folder)];
  for (const seq of new Set([applied, head, ...older])) trees.push(mirror.entriesAt(seq, folder));
  for (const tree of trees) {
    for await (const rows of withBreaths(tree)) for (const { path } of rows) if (path !== ROOT) paths.add(path);
  }
}

async function readInto(
  found: Map<WorkspacePath, CyclePath>,
  wanted: ReadonlySet<WorkspacePath>,
  sides: CycleSides,
): Promise<void> {
  const all = [...wanted];
  const disputed = new Map(sides.conflicts.map(({ record }) => [record.path, record.sync]));
  for (let from = 0; from < all.length; from += BATCH) {
    if (from > 0) await yieldToEventLoop();
    const paths = all.slice(from, from + BATCH);
    const base = await readBases(paths, sides);
    const remote = await sides.mirror.iterationsAt(paths, sides.head);
    const local = await sides.own.iterationsAt(paths, sides.local);
    paths.forEach((path, i) => {
      const there = remote[i];
      const upstream = there === undefined ? undefined : { seq: there.seq, iteration: there.iteration };
      // If the folder never recorded the path, for instance because a filter withheld it, the folder cannot have
      // deleted the path. The origin's entry then counts as new.
      const isNew = local[i] === undefined && !disputed.has(path) && sides.isDeleting?.(path, there?.seq ?? 0) !== true;
      const at = (isNew ? undefined : base[i]) ?? NEVER;
      // If a conflict has no common state, an earlier step has already searched for a base up to the origin's event
      // that the conflict names (`upstreamSeq`).
      const sync = at.entry === undefined && at.seq === 0 ? disputed.get(path) : undefined;
      const judgedTo = Math.max(base[i]?.seq ?? 0, sync?.upstreamSeq ?? 0);
      found.set(path, { path, base: at, judgedTo, local: local[i]?.entry, remote: there?.entry, upstream });
    });
  }
}

/**
 * Returns the states on which both sides last agreed. These are the origin's states as of the folder's last
 * reconciliation. For a path in a conflict, the state as of the beginning of the conflict is returned.
 */
async function readBases(paths: readonly WorkspacePath[], sides: CycleSides): Promise<(SyncBase | undefined)[]> {
  const conflicts = new Map(sides.conflicts.map((one) => [one.record.path, one.record]));
  const bySeq = new Map<number, number[]>();
  const bases: (SyncBase | undefined)[] = paths.map((path, i) => {
    const own = conflicts.get(path);
    if (own !== undefined) return { entry: own.base, seq: own.sync?.baseSeq ?? 0 };
    const seq = sinceAbove(path, conflicts) ?? sides.applied;
    const known = bySeq.get(seq);
    if (known === undefined) bySeq.set(seq, [i]);
    else known.push(i);
    return undefined;
  });
  for (const [seq, places] of bySeq) {
    const rows = await sides.mirror.iterationsAt(
      places.map((i) => paths[i] as WorkspacePath),
      seq,
    );
    places.forEach((i, at) => {
      const row = rows[at];
      bases[i] = { entry: row?.entry, seq: row?.seq ?? 0 };
    });
  }
  return bases;
}

function sinceAbove(path: WorkspacePath, conflicts: ReadonlyMap<WorkspacePath, ConflictRecord>): number | undefined {
  if (conflicts.size === 0) return undefined;
  for (const folder of foldersAbove(path)) {
    const since = conflicts.get(folder)?.sync?.since;
    if (since !== undefined) return since;
  }
  return undefined;
}

export type CycleOutcome =
  /** The cycle must run again, because a file changed concurrently or the mirror's index was wrong. */
  | { readonly kind: "moved" }
  /** Entries are being deleted. The caller must wait for `waitMs` and run the cycle again. */
  | { readonly kind: "restless"; readonly waitMs: number }
  /** Only a part of a commit of the origin has arrived. */
  | { readonly kind: "partial" }
  | { readonly kind: "halted"; readonly halt: ReplicaHalt }
  | {
      readonly kind: "done";
      /** The number of paths that were changed in the folder. */
      readonly applied: number;
      readonly conflicts: readonly Pick<ConflictRecord, "path" | "state">[];
      /** True if the step wrote something that must be sent to the origin or compared once more. */
      readonly isMore: boolean;
    };
