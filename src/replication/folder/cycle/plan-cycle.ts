import type { ConflictRecord, IdentifiedConflict } from "../../../core/records/conflict-record.ts";
import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { comparePaths, type WorkspacePath } from "../../../core/values/path.ts";
import type { UpstreamChange } from "../../../core/tree/upstream-change.ts";
import type { UpstreamReport } from "../../../engine/replica/apply-upstream.ts";
import type { BlockedPath } from "../../../worktree/worktree.ts";
import type { CyclePath, SettledDecision } from "../ground/decide-cycle.ts";
import { settable } from "../ground/decide-cycle.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";
import { optional } from "../../../util/optional.ts";

export interface CycleGround {
  readonly origin: string;
  /** The origin's event up to which the folder was reconciled before this step. */
  readonly applied: number;
  readonly rules: ReplicatedPaths;
  readonly paths: readonly CyclePath[];
  readonly conflicts: readonly IdentifiedConflict[];
  /** Paths whose names collide with other names in the folder (see `holdCollisions`). */
  readonly collisions: readonly WorkspacePath[];
  /** Paths that could not be written and are not retried yet. */
  readonly waiting: ReadonlySet<WorkspacePath>;
  /** True if this state of a path is already on its way to the origin, or was refused there. */
  readonly isOnItsWay: (path: WorkspacePath, state: Entry | undefined) => boolean;
  /** True if the journal would not send a proposal of this path. Default: false. */
  readonly keepsProposal?: (path: WorkspacePath) => boolean;
  readonly newId: () => string;
  /** The time in ISO 8601. */
  readonly now: string;
}

export interface CyclePlan {
  readonly changes: readonly UpstreamChange[];
  /**
   * The paths whose present state must be sent to the origin, in sending order. This step does not change these paths
   * in the folder.
   */
  readonly proposals: readonly WorkspacePath[];
  readonly conflicts: readonly IdentifiedConflict[];
}

export function planCycle(decisions: readonly SettledDecision[], ground: CycleGround): CyclePlan {
  const byPath = new Map(ground.paths.map((one) => [one.path, one]));
  const changes: UpstreamChange[] = [];
  const proposals: SettledDecision[] = [];
  for (const one of decisions) {
    const path = byPath.get(one.path);
    if (path === undefined || ground.waiting.has(one.path)) continue;
    const change = changeOf(one, path);
    if (change !== undefined) changes.push(change);
    if (isProposed(one, { change, path, ground })) proposals.push(one);
  }
  return { changes, proposals: inSendingOrder(proposals), conflicts: planConflicts(decisions, ground) };
}

function changeOf({ path, sides, decision }: SettledDecision, at: CyclePath): UpstreamChange | undefined {
  if (sameEntry(sides.local, decision.local)) return undefined;
  const change = { path, before: at.local, after: decision.local, base: at.base };
  if (!sameEntry(decision.local, settable(at.remote))) return { ...change, cause: "merge" };
  return { ...change, cause: "replica", ...optional({ upstream: at.upstream }) };
}

interface Proposing {
  readonly change: UpstreamChange | undefined;
  readonly path: CyclePath;
  readonly ground: CycleGround;
}

/**
 * True if the path's present state must be sent to the origin. False for a path that this step changes in the folder,
 * because the journal sends such a change anyway.
 */
function isProposed({ sides, decision }: SettledDecision, { change, path, ground }: Proposing): boolean {
  if (change !== undefined || sameEntry(sides.remote, decision.remote)) return false;
  if (!ground.rules.goesBack(path.path, path.local ?? path.remote, path.remote)) return false;
  const isNewGround = (path.upstream?.seq ?? 0) !== path.base.seq;
  if (!isNewGround && ground.isOnItsWay(path.path, path.local)) return false;
  // Without this condition, each comparison would record a proposal that the journal never sends.
  return ground.keepsProposal?.(path.path) !== true;
}

/**
 * Returns the paths in sending order. Deletions come first, with children before their folder. The other paths follow,
 * with folders before their children.
 */
function inSendingOrder(proposals: readonly SettledDecision[]): WorkspacePath[] {
  const gone = proposals.filter(({ decision }) => decision.remote === undefined).map(({ path }) => path);
  const there = proposals.filter(({ decision }) => decision.remote !== undefined).map(({ path }) => path);
  return [...gone.sort((a, b) => comparePaths(b, a)), ...there.sort(comparePaths)];
}

function planConflicts(decisions: readonly SettledDecision[], ground: CycleGround): IdentifiedConflict[] {
  const open = new Map(ground.conflicts.map((one) => [one.record.path, one]));
  const byPath = new Map(ground.paths.map((one) => [one.path, one]));
  const planned: IdentifiedConflict[] = [];
  for (const one of decisions) {
    const at = byPath.get(one.path);
    const known = open.get(one.path);
    // A path keeps its conflict when a folder above it becomes disputed. If the conflict were withdrawn, one side would
    // win by default.
    const isStill = one.decision.action === "held" && one.heldBy === undefined && known !== undefined;
    const isDisputed = one.decision.action === "conflict" || isStill;
    if (!isDisputed || at === undefined) continue;
    open.delete(one.path);
    const record = conflictOf(one, { at, known, ground });
    if (known === undefined || !saysTheSame(known.record, record))
      planned.push({ id: known?.id ?? ground.newId(), record });
  }
  // The remaining conflicts are withdrawn, except those of waiting paths: their sides agree again, their obstacle is
  // gone, or this step removes the obstacle.
  for (const known of open.values()) {
    if (!ground.waiting.has(known.record.path)) planned.push(withdrawn(known));
    else if (known.record.sync?.since !== undefined) planned.push(onlyOfItsPath(known));
  }
  return planned;
}

interface ConflictGround {
  readonly at: CyclePath;
  readonly known: IdentifiedConflict | undefined;
  readonly ground: CycleGround;
}

function conflictOf(one: SettledDecision, { at, known, ground }: ConflictGround): ConflictRecord {
  const { path, sides, heldBy } = one;
  const { origin, applied, now } = ground;
  // If a folder is in conflict only because it stays at the origin (`heldBy`), the conflict has no `since`. The
  // folder's children are not in conflict, and this step reconciles them.
  const about = heldBy === undefined ? { since: known?.record.sync?.since ?? applied } : { detail: heldBy };
  return {
    path,
    state: "open",
    reason: reasonOf(one, { known, ground }),
    undo: "",
    sync: { origin, baseSeq: at.base.seq, upstreamSeq: at.upstream?.seq ?? 0, ...about },
    met: known?.record.met ?? now,
    base: sides.base,
    current: sides.local,
    wanted: sides.remote,
  };
}

function reasonOf(
  { path, decision, heldBy }: SettledDecision,
  { known, ground }: Omit<ConflictGround, "at">,
): ConflictRecord["reason"] {
  if (heldBy !== undefined) return "blocked";
  if (ground.collisions.includes(path)) return "collision";
  const before = decision.action === "held" ? known?.record.reason : undefined;
  return before ?? decision.reason ?? "content";
}

function saysTheSame(known: ConflictRecord, now: ConflictRecord): boolean {
  return (
    known.reason === now.reason &&
    (now.sync?.detail === undefined || known.sync?.detail === now.sync.detail) &&
    (now.sync?.since !== undefined || known.sync?.since === undefined) &&
    known.sync?.upstreamSeq === now.sync?.upstreamSeq &&
    sameEntry(known.current, now.current) &&
    sameEntry(known.wanted, now.wanted)
  );
}

function withdrawn({ id, record }: IdentifiedConflict): IdentifiedConflict {
  return { id, record: { ...record, state: "settled", settled: "withdrawn" } };
}

/** Limits the conflict of a waiting path to the path itself, because this step reconciles the paths beneath it. */
function onlyOfItsPath({ id, record }: IdentifiedConflict): IdentifiedConflict {
  if (record.sync === undefined) return { id, record };
  const { since: _over, ...sync } = record.sync;
  return { id, record: { ...record, sync } };
}

/**
 * Returns the conflicts to report: the planned conflicts of paths that could be written, and an open conflict for each
 * path that could not be written, unless its conflict was open before this step.
 */
export function toldConflicts(
  planned: readonly IdentifiedConflict[],
  before: readonly IdentifiedConflict[],
  blocked: readonly BlockedPath[],
): Pick<ConflictRecord, "path" | "state">[] {
  const held = new Set(blocked.map(({ path }) => path));
  const open = new Set(before.map(({ record }) => record.path));
  const told = planned.map(({ record }) => record).filter(({ path }) => !held.has(path));
  return [...told, ...[...held].filter((path) => !open.has(path)).map((path) => ({ path, state: "open" }) as const)];
}

/** Returns the paths that are the same on both sides after a step. */
export function agreedPaths(
  { paths, plan }: { readonly paths: readonly CyclePath[]; readonly plan: CyclePlan },
  report: UpstreamReport | undefined,
): WorkspacePath[] {
  const applied = new Set(report?.applied);
  const taken = plan.changes.filter(({ cause, path }) => cause === "replica" && applied.has(path));
  const same = paths.filter(({ local, remote }) => sameEntry(settable(local), settable(remote)));
  return [...taken, ...same].map(({ path }) => path);
}

/** True if a step only applies changes of the origin, and sends nothing. */
export function isNewsOnly({ changes, proposals }: CyclePlan): boolean {
  return proposals.length === 0 && changes.every(({ cause }) => cause === "replica");
}

/**
 * True if a step only applied changes of the origin, applied all of them, and met no concurrent change. After such a
 * step, no path needs another comparison.
 */
export function isOnlyTaken(plan: CyclePlan, local: number, { from, blocked, copies }: UpstreamReport): boolean {
  return from === local && isNewsOnly(plan) && plan.conflicts.length + blocked.length + copies.length === 0;
}
