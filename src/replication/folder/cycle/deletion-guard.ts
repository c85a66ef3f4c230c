import type { Entry } from "../../../core/values/entry.ts";
import type { FolderIdentity, ReplicaHalt, Kept } from "../../../core/records/replica-record.ts";
import { ROOT, type WorkspacePath } from "../../../core/values/path.ts";
import { both, settle, type Side } from "../../../core/tree/reconcile.ts";
import { withBreaths } from "../../../util/yield-to-event-loop.ts";
import { shownPath } from "../../../engine/log/shape.ts";
import type { CyclePath, SettledDecision } from "../ground/decide-cycle.ts";
import type { IgnoredPaths } from "./ignored-paths.ts";
import type { CycleSides, FileHistory } from "./read-cycle.ts";
import { optional } from "../../../util/optional.ts";
import type { Timers } from "../../../util/timers.ts";

// The sync must halt (stop until a person decides) if its folder is missing, was replaced, or has lost many entries at
// once. An unmounted disk, for example, looks like a deletion of all entries. Without the halt, the sync would delete
// everything on the other side, too.

/**
 * The maximum number of entries that may be lost at once if at least one entry is kept. A loss of more entries is
 * allowed only if at least as many entries are kept as are lost (see `enoughKept`).
 */
const MAY_GO_AT_ONCE = 50;

/** The number of entries that the folder has lost, and the number of entries that the origin has lost. */
interface Lost {
  readonly local: number;
  readonly upstream: number;
}

/**
 * The deletions of a cycle. `local` counts entries that are gone from the folder and would be deleted at the origin.
 * `upstream` counts entries that are gone from the origin and would be deleted in the folder.
 */
export interface Losses extends Lost {
  /** The numbers of the lost entries that had been in the folder for longer than `MEMORY_MS`. */
  readonly older: Lost;
  /**
   * The numbers of lost entries that the ignore rules leave out. These entries are not in `local` and `upstream`, and
   * normally cause no halt.
   */
  readonly ignored: Lost;
  /** The halt that the losses of a side cause, if any. */
  readonly halted: { readonly [side in Side]?: ReplicaHalt };
}

const NOTHING: Lost = { local: 0, upstream: 0 };

export const NO_LOSSES: Losses = { local: 0, upstream: 0, older: NOTHING, ignored: NOTHING, halted: {} };

/** A person's decision about a halt: to carry out the deletions, or to restore the lost entries. */
export type LossDecision = "deletions" | "restore";

/**
 * Returns the sides to which the step restores every lost entry, if `decided` is the value of `keeps` in the sync's
 * record. If `decided` is a person's decision, returns `[]`. For the decision "restore", see `sidesToRestore`.
 */
export function sidesKept(decided: LossDecision | Kept | undefined): readonly Side[] {
  if (decided === "both") return ["local", "remote"];
  return decided === "here" ? ["local"] : [];
}

/**
 * Returns the sides to which lost entries are restored:
 * - the sides whose losses halt the sync;
 * - if there are no such sides any more, the sides that have lost anything;
 * - if no side has lost anything, both sides.
 */
export function sidesToRestore({ halted, local, upstream }: Losses): ReadonlySet<Side> {
  const isHalted = halted.local !== undefined || halted.remote !== undefined;
  if (isHalted) return sidesOf(halted.local !== undefined, halted.remote !== undefined);
  return sidesOf(local > 0 || upstream === 0, upstream > 0 || local === 0);
}

function sidesOf(isLocal: boolean, isRemote: boolean): ReadonlySet<Side> {
  return new Set<Side>([...(isLocal ? (["local"] as const) : []), ...(isRemote ? (["remote"] as const) : [])]);
}

interface LossGround extends Pick<
  CycleSides,
  "mirror" | "own" | "applied" | "head" | "local" | "rules" | "editorFiles"
> {
  /**
   * The losses of the last `MEMORY_MS`. These are added to the present losses, because the sync can notice one deletion
   * in several parts.
   */
  readonly recent: Lost & Pick<Losses, "older">;
  /**
   * Resolves to the seq of the last event of the folder's own log that is older than `MEMORY_MS`. Called only if
   * something is lost.
   */
  readonly since: () => Promise<number>;
  readonly ignored: (side: Side) => Pick<IgnoredPaths, "of">;
  /** True if the path's deletion is already on its way to the origin. */
  readonly isSent: (path: WorkspacePath) => boolean;
}

/**
 * The states of a path before and after a possible loss. For a loss in the folder, `before` is the state on which both
 * sides last agreed, and `after` is the folder's present state. For a loss at the origin, `before` is the folder's
 * present state, and `after` is the state that the step would give to the folder.
 */
interface PathChange {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/**
 * Compares the number of entries that each side has lost with the number of entries that it has kept. A kept entry
 * existed on the side when both sides last agreed, and still exists there. Three kinds of entries do not count as kept:
 * new entries, entries that the other side has created since, and entries that are not shared in this direction.
 */
export async function weighDeletions(
  paths: readonly CyclePath[],
  decisions: readonly SettledDecision[],
  ground: LossGround,
): Promise<Losses> {
  const { rules, isSent } = ground;
  const here = paths.flatMap(({ path, local: after, base, remote }): PathChange[] => {
    const before = remote && base.entry;
    // The rules are asked last, because the first condition already leaves out most paths.
    const isPassing = (before === undefined) !== (after === undefined);
    return isPassing && rules.goesBack(path, after ?? base.entry) && !isSent(path) ? [{ path, before, after }] : [];
  });
  const there = decisions.map(({ path, sides, decision }) => ({ path, before: sides.local, after: decision.local }));
  const local = await weigh(ground, here, "local");
  const upstream = await weigh(ground, there, "remote");
  return {
    local: local.lost,
    upstream: upstream.lost,
    older: { local: local.older, upstream: upstream.older },
    ignored: { local: countLost(here) - local.lost, upstream: countLost(there) - upstream.lost },
    halted: {
      ...optional({ local: local.halt, remote: upstream.halt }),
    },
  };
}

/**
 * The numbers of entries that a side has lost and kept, and the resulting halt. `older` counts the lost entries that
 * are older than `MEMORY_MS`. `kept` can be too low, because counting stops at the number that allows the loss.
 */
interface Weighed {
  readonly lost: number;
  readonly older: number;
  readonly kept: number;
  readonly halt?: ReplicaHalt | undefined;
}

interface Weighing {
  readonly side: Side;
  readonly changes: readonly PathChange[];
  /** Finds the paths that are left out of the comparison. Default: no path is left out. */
  readonly ignored?: Pick<IgnoredPaths, "of">;
}

/**
 * Compares the losses of one side with its kept entries, without the ignored paths. Ignored paths do not count as
 * anybody's work, and were recorded before the ignore rules named them. If this comparison gives no halt, but all kept
 * entries are ignored paths, everything may be gone. A second comparison then includes the ignored paths.
 */
async function weigh(ground: LossGround, changes: readonly PathChange[], side: Side): Promise<Weighed> {
  if (countLost(changes) === 0) return { lost: 0, older: 0, kept: 0 };
  const rules = ground.ignored(side);
  const ignored = await rules.of(changes.flatMap(({ before, after }) => before ?? after ?? []));
  if (ignored.size === 0) return weighThese(ground, { side, changes });
  const work = changes.filter(({ path }) => !ignored.has(path));
  const weighed = await weighThese(ground, { side, changes: work, ignored: rules });
  return weighed.halt !== undefined || weighed.kept > 0 ? weighed : weighThese(ground, { side, changes });
}

/**
 * Compares losses with kept entries in two checks. The first check compares all recent losses with all kept entries.
 * The second check compares only entries, lost or kept, that existed before the last `MEMORY_MS`. Without the second
 * check, entries that were created between two parts of a deletion would count as kept.
 */
async function weighThese(ground: LossGround, { side, changes, ignored }: Weighing): Promise<Weighed> {
  const lost = countLost(changes);
  const since = await ground.since();
  const gone = changes.filter(({ before, after }) => before !== undefined && after === undefined);
  const come = changes.filter(({ before, after }) => before === undefined && after !== undefined);
  const goneBefore = await thereAt(ground.own, gone, since);
  const older = countLost([...goneBefore, ...come]);
  const { recent } = ground;
  const where = side === "local" ? "local" : "upstream";
  const all = lost === 0 ? 0 : lost + recent[where];
  const allOlder = older === 0 ? 0 : older + recent.older[where];
  const least = ignored === undefined ? 0 : 1;
  const enough = { all: Math.max(least, enoughKept(all)), older: enoughKept(allOlder) };
  const moved = { all: gone.length - lost, older: goneBefore.length - older };
  const kept = await countKept(ground, { side, since, enough, moved, ignored });
  const told = { side, gone };
  const halt =
    (await haltFor(ground, { lost: all, kept: kept.all }, told)) ??
    (await haltFor(ground, { lost: allOlder, kept: kept.older }, told));
  return { lost, older, kept: kept.all, halt };
}

interface Counting {
  readonly side: Side;
  /** See `LossGround`. */
  readonly since: number;
  /** Counting stops once both numbers are reached. */
  readonly enough: KeptCount;
  /** The numbers of renamed entries. Renamed entries count as kept. */
  readonly moved: KeptCount;
  readonly ignored: Weighing["ignored"];
}

/**
 * The number of entries that existed when both sides last agreed and that still exist. `older` counts only those that
 * are older than `MEMORY_MS`.
 */
interface KeptCount {
  readonly all: number;
  readonly older: number;
}

async function countKept(ground: LossGround, { side, since, enough, moved, ignored }: Counting): Promise<KeptCount> {
  const { mirror, own, rules, editorFiles } = ground;
  const goes = (path: WorkspacePath, entry: Entry): boolean =>
    editorFiles?.looksMade(entry) !== true &&
    (side === "local" ? rules.goesBack(path, entry) : rules.isShared(path, entry.kind === "dir"));
  let { all, older } = moved;
  if (all >= enough.all && older >= enough.older) return moved;
  for await (const rows of withBreaths(mirror.entriesAt(ground.applied))) {
    const went = rows.filter(({ path, entry }) => entry !== undefined && path !== ROOT && goes(path, entry));
    const left = await ignored?.of(went.flatMap(({ entry }) => entry ?? []));
    const were = left === undefined ? went : went.filter(({ path }) => !left.has(path));
    const are = await (side === "local" ? thereAt(own, were, ground.local) : thereAt(mirror, were, ground.head));
    all += are.length;
    older += (await thereAt(own, are, since)).length;
    if (all >= enough.all && older >= enough.older) break;
  }
  return { all, older };
}

async function thereAt<T extends { readonly path: WorkspacePath }>(
  history: FileHistory,
  paths: readonly T[],
  seq: number,
): Promise<readonly T[]> {
  if (paths.length === 0) return [];
  const rows = await history.iterationsAt(
    paths.map(({ path }) => path),
    seq,
  );
  return paths.filter((_, i) => rows[i]?.entry !== undefined);
}

interface Told {
  readonly side: Side;
  readonly gone: readonly Pick<PathChange, "path">[];
}

async function haltFor(ground: LossGround, loss: Loss, { side, gone }: Told): Promise<ReplicaHalt | undefined> {
  const reason = checkLoss(loss);
  if (reason === undefined) return undefined;
  const where = side === "local" ? "here" : "at the origin";
  const { lost, kept } = loss;
  if (reason === "mass-deletion")
    return { reason, detail: `${lost} of ${lost + kept} entries were deleted ${where} at once${mostlyIn(gone)}` };
  const what = (await isBare(ground, side)) ? "everything" : "everything except new entries";
  return { reason, detail: `${what} was deleted ${where}` };
}

/**
 * Returns a clause that names the top-level folder with at least half of the deleted entries; `""` if there is none.
 */
function mostlyIn(gone: Told["gone"]): string {
  const counts = new Map<string, number>();
  for (const { path } of gone) {
    const [top = ""] = path.split("/", 1);
    counts.set(top, (counts.get(top) ?? 0) + 1);
  }
  const [most] = [...counts].toSorted(([, a], [, b]) => b - a);
  if (most === undefined || most[1] < 2 || most[1] * 2 < gone.length) return "";
  return `, ${most[1]} of them in ${shownPath(most[0] as WorkspacePath)}/`;
}

/** True if a side has no entry that the sync shares. */
async function isBare({ own, local, mirror, head, rules }: LossGround, side: Side): Promise<boolean> {
  for await (const rows of withBreaths(side === "local" ? own.entriesAt(local) : mirror.entriesAt(head))) {
    if (rows.some(({ path, entry }) => path !== ROOT && rules.isShared(path, entry?.kind === "dir"))) return false;
  }
  return true;
}

/**
 * Changes the decisions so that the side `lostOn` gets its lost entries back from the other side. Entries whose
 * deletion is intended (`isMeant`) stay deleted.
 */
export function putBack(
  decisions: readonly SettledDecision[],
  lostOn: Side,
  isMeant: (path: WorkspacePath) => boolean,
): readonly SettledDecision[] {
  const other = lostOn === "local" ? "remote" : "local";
  return decisions.map((one) => {
    const { path, sides, decision } = one;
    const isLost = sides[lostOn] === undefined && sides[other] !== undefined && decision[other] === undefined;
    return isLost && !isMeant(path) ? { ...one, decision: settle(sides, both(sides[other])) } : one;
  });
}

export const ROOT_REPLACED: ReplicaHalt = {
  reason: "root-replaced",
  detail: "another folder is in the folder's place",
};

/**
 * Returns a halt if the sync's folder is missing, or if another folder is in its place. `known` is the folder as it was
 * last seen; `undefined` if it was never seen. The device is not compared (see `isElsewhere`).
 */
export function checkRoot(known: FolderIdentity | undefined, now: FolderIdentity | undefined): ReplicaHalt | undefined {
  if (now === undefined) return { reason: "root-vanished", detail: "the folder is not there" };
  return known === undefined || canBeSame(known, now) ? undefined : ROOT_REPLACED;
}

/**
 * Compares inode numbers, and birth times if both are known. Ignores the device number, because a restart of the
 * machine can change it. On btrfs and overlayfs, every mount can change the device number, too.
 */
function canBeSame(a: FolderIdentity, b: FolderIdentity): boolean {
  return a.ino === b.ino && (a.birth ?? b.birth) === (b.birth ?? a.birth);
}

/**
 * True if the folder is on another device. The caller must then compare contents, because the root of another file
 * system can have the same inode number.
 */
export function isElsewhere(known: FolderIdentity | undefined, now: FolderIdentity | undefined): boolean {
  return known !== undefined && now !== undefined && known.dev !== now.dev;
}

interface BeforeAfter {
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/** Counts the deleted entries that do not reappear under another name, because a moved entry is not lost. */
export function countLost(changes: Iterable<BeforeAfter>): number {
  const came = new Map<string, number>();
  const went = new Map<string, number>();
  for (const { before, after } of changes) {
    if (before !== undefined && after === undefined) add(went, before);
    if (before === undefined && after !== undefined) add(came, after);
  }
  let lost = 0;
  for (const [what, count] of went) lost += Math.max(0, count - (came.get(what) ?? 0));
  return lost;
}

function add(counts: Map<string, number>, { kind, hash }: Entry): void {
  const what = hash ?? kind;
  counts.set(what, (counts.get(what) ?? 0) + 1);
}

interface Loss {
  /** The number of entries that are lost now, or were lost within the last `MEMORY_MS`. */
  readonly lost: number;
  /** The number of entries that existed when both sides last agreed and that still exist. */
  readonly kept: number;
}

/** True for a large loss. Such a loss is allowed only if at least as many entries are kept as are lost. */
function isMuch(lost: number): boolean {
  return lost > MAY_GO_AT_ONCE;
}

/**
 * Returns the number of entries that must be kept to allow a loss of `lost` entries. A loss of one entry is always
 * allowed.
 */
function enoughKept(lost: number): number {
  if (lost < 2) return 0;
  return isMuch(lost) ? lost : 1;
}

/** Returns the reason for a halt; `undefined` if the loss is allowed. */
export function checkLoss({ lost, kept }: Loss): "root-emptied" | "mass-deletion" | undefined {
  if (kept >= enoughKept(lost)) return undefined;
  return kept === 0 ? "root-emptied" : "mass-deletion";
}

type Counted = Omit<Losses, "halted" | "ignored">;

/**
 * The time, in ms, for which a deletion is remembered. Deletions within this time count as one deletion. Entries that
 * were created within this time do not count as kept in the second check of `weighThese`.
 */
export const MEMORY_MS = 10_000;

/**
 * The maximum number of entries in a small deletion, which is probably complete. After a small deletion, the sync waits
 * only `MOMENT_MS` for more deletions.
 */
const FEW = 3;
const MOMENT_MS = 100;

/** The wait, in ms, after a deletion of more than `FEW` entries, which may be the beginning of a large deletion. */
const QUIET_MS = 400;

/**
 * The maximum number of waits in succession while a deletion grows but is not large yet. A deletion that grows for
 * longer counts as ordinary work, and the sync continues.
 */
const MOST_WAITS = 10;

/**
 * The maximum number of waits before a large deletion at the origin halts the sync. `DOUBT_MS` is the length of each
 * wait, in ms. The deletion may be the first half of a slow rename. Or the origin may already have restored the
 * entries, by events that have not arrived yet.
 */
const MOST_DOUBTS = 5;
const DOUBT_MS = 1_000;

const NONE: Counted = { local: 0, upstream: 0, older: { local: 0, upstream: 0 } };

/** Remembers the deletions of the last `MEMORY_MS`, and decides how long the sync waits for more of them. */
export class RecentDeletions {
  readonly #timers: Timers;
  #recent: Counted = NONE;
  /** A counter that is incremented when a person accepts deletions. All earlier deletions are then forgotten. */
  #generation = 0;
  #last: Lost = NONE;
  #waits = 0;
  #doubts = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  get recent(): Counted {
    return this.#recent;
  }

  /**
   * Returns the time to wait for more deletions, in ms, or `undefined` to continue without a wait. If more entries are
   * gone than at the last call, a large deletion may have begun. `found` is the halt that the sync would report without
   * a wait.
   */
  waitFor(
    { halted, ignored = NONE, ...weighed }: Lost & Partial<Pick<Losses, "halted" | "ignored">>,
    found?: ReplicaHalt,
  ): number | undefined {
    // Count ignored paths too, because their deletion may be the first part of a deletion that includes other paths.
    const { local, upstream } = sum(weighed, ignored, 1);
    const lost = { local: local + this.#recent.local, upstream: upstream + this.#recent.upstream };
    const isMore = lost.local > this.#last.local || lost.upstream > this.#last.upstream;
    this.#last = lost;
    const most = Math.max(local === 0 ? 0 : lost.local, upstream === 0 ? 0 : lost.upstream);
    const isRestless = isMore && most > 0 && (isMuch(most) || this.#waits < MOST_WAITS);
    this.#waits = isRestless ? this.#waits + 1 : 0;
    if (!isRestless) return this.#doubt(found !== undefined && found === halted?.remote);
    return most > FEW ? QUIET_MS : MOMENT_MS;
  }

  /**
   * Remembers deletions that were carried out. If a person has accepted the deletions (`isAccepted`), forgets them and
   * all earlier deletions.
   */
  note(lost: Counted, isAccepted = false): void {
    if (isAccepted) {
      this.#recent = NONE;
      this.#generation += 1;
      return;
    }
    if (lost.local + lost.upstream === 0) return;
    const generation = this.#generation;
    const add = (sign: 1 | -1): void => {
      this.#recent = { ...sum(this.#recent, lost, sign), older: sum(this.#recent.older, lost.older, sign) };
    };
    add(1);
    this.#timers.after(MEMORY_MS, () => {
      if (this.#generation === generation) add(-1);
    });
  }

  #doubt(isLarge: boolean): number | undefined {
    const isDoubtful = isLarge && this.#doubts < MOST_DOUBTS;
    this.#doubts = isDoubtful ? this.#doubts + 1 : 0;
    return isDoubtful ? DOUBT_MS : undefined;
  }
}

function sum(a: Lost, b: Lost, sign: 1 | -1): Lost {
  return { local: a.local + sign * b.local, upstream: a.upstream + sign * b.upstream };
}
