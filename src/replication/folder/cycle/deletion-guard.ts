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

/**
 * Guards against a folder that is missing, was replaced, or has lost many entries at once: then the sync must halt. An
 * unmounted disk looks like that, and a sync that took it for a person's work would delete everything on the other
 * side.
 */

/** The most entries that may go at once as long as one stays. */
const MAY_GO_AT_ONCE = 50;

/** The number of entries that went from the folder, and the number that went from the origin. */
interface Lost {
  readonly local: number;
  readonly upstream: number;
}

/**
 * The deletions of a cycle: `local` went from the folder and would go at the origin, `upstream` went from the origin
 * and would go in the folder.
 */
export interface Losses extends Lost {
  /** The entries among them that the folder had held for longer than `MEMORY_MS`. */
  readonly older: Lost;
  /** Further entries that go, but do not count, as the ignore rules leave them out. */
  readonly ignored: Lost;
  readonly halted: { readonly [side in Side]?: ReplicaHalt };
}

const NOTHING: Lost = { local: 0, upstream: 0 };

export const NO_LOSSES: Losses = { local: 0, upstream: 0, older: NOTHING, ignored: NOTHING, halted: {} };

/** A person's decision about a large deletion. */
export type LossDecision = "deletions" | "restore";

/** Returns the sides that get back what is missing there. */
export function sidesKept(decided: LossDecision | Kept | undefined): readonly Side[] {
  if (decided === "both") return ["local", "remote"];
  return decided === "here" ? ["local"] : [];
}

/**
 * Returns the sides that get back what they have lost: those that halt. If none does, as by now their losses may be too
 * few to halt, returns those that lose anything; if none does that, both.
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
  /** Losses of a moment ago: a deletion may be seen in several pieces. */
  readonly recent: Lost & Pick<Losses, "older">;
  /** Returns the last own event that is older than `MEMORY_MS`. Called only if something is lost. */
  readonly since: () => Promise<number>;
  /** Returns the paths of a side that the ignore rules leave out. */
  readonly ignored: (side: Side) => Pick<IgnoredPaths, "of">;
  /** True if the path's deletion is already on its way to the origin. */
  readonly isSent: (path: WorkspacePath) => boolean;
}

/** A path that was there when both sides last agreed, or has come to one of them since. */
interface PathChange {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/**
 * Weighs the deletions on each side against the entries that the side had when both last agreed, and still has. New
 * entries, entries that the other side has made since, and entries that are not shared in this direction do not count
 * as kept.
 */
export async function weighDeletions(
  paths: readonly CyclePath[],
  decisions: readonly SettledDecision[],
  ground: LossGround,
): Promise<Losses> {
  const { rules, isSent } = ground;
  const here = paths.flatMap(({ path, local: after, base, remote }): PathChange[] => {
    const before = remote && base.entry;
    // Ask the rules last: many paths that only come need no answer.
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
 * The number of entries that a side has lost, the number of older ones among them, the number that it has kept (as far
 * as it was counted), and the halt that follows.
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
  /** Returns the paths that do not count. `undefined`: all count. */
  readonly ignored?: Pick<IgnoredPaths, "of">;
}

/**
 * Weighs one side without its ignored paths: they were recorded before the rules named them, and are nobody's work. If
 * no other path is left, the whole side may be gone, so ignored paths count, too.
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
 * Checks twice: first all recent losses against all kept entries, then only the losses and kept entries that are older
 * than `MEMORY_MS`. Otherwise entries that came between two pieces of a deletion would count as kept.
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
  readonly since: number;
  /** The number of entries at which counting stops. */
  readonly enough: KeptCount;
  /** Entries that have been renamed by now. */
  readonly moved: KeptCount;
  readonly ignored: Weighing["ignored"];
}

/**
 * The number of entries that were there when both sides last agreed and still are, and the number of those that are
 * older than `MEMORY_MS`.
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
  const what = (await isBare(ground, side)) ? "everything" : "everything that was there before";
  return { reason, detail: `${what} was deleted ${where}` };
}

/** Returns a clause that names the top-level folder of at least half of the deleted entries; "" if there is none. */
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

/** True if a side holds nothing at all that concerns the other one. */
async function isBare({ own, local, mirror, head, rules }: LossGround, side: Side): Promise<boolean> {
  for await (const rows of withBreaths(side === "local" ? own.entriesAt(local) : mirror.entriesAt(head))) {
    if (rows.some(({ path, entry }) => path !== ROOT && rules.isShared(path, entry?.kind === "dir"))) return false;
  }
  return true;
}

/**
 * Returns the decisions, changed so that a side gets back each entry that it has lost and the other side still has.
 * `isMeant`: true for a path that is to stay away.
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
 * Returns a halt if there is no folder, or it cannot be the known one. `known` undefined: no folder was seen yet. See
 * `isElsewhere`.
 */
export function checkRoot(known: FolderIdentity | undefined, now: FolderIdentity | undefined): ReplicaHalt | undefined {
  if (now === undefined) return { reason: "root-vanished", detail: "the folder is not there" };
  return known === undefined || canBeSame(known, now) ? undefined : ROOT_REPLACED;
}

/**
 * True if two identities may be of one folder. Ignores the device: a file system may get another number when it is
 * mounted anew (btrfs, overlayfs, and every other with the next start of the machine). Birth times count if both are
 * known.
 */
function canBeSame(a: FolderIdentity, b: FolderIdentity): boolean {
  return a.ino === b.ino && (a.birth ?? b.birth) === (b.birth ?? a.birth);
}

/**
 * True if a folder that may be the known one is on another device now. The root of another file system may have the
 * same inode number, so the caller must compare contents.
 */
export function isElsewhere(known: FolderIdentity | undefined, now: FolderIdentity | undefined): boolean {
  return known !== undefined && now !== undefined && known.dev !== now.dev;
}

interface BeforeAfter {
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/** Counts the entries that go and do not come back under another name: a moved entry is not lost. */
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

/** The number of entries that go at once from one side, and the number that stay there. */
interface Loss {
  /** Entries that went a moment ago, or go now. */
  readonly lost: number;
  /** Entries that were there before, and still are; new ones do not count. */
  readonly kept: number;
}

/** True if so many entries may go only if at least as many stay. */
function isMuch(lost: number): boolean {
  return lost > MAY_GO_AT_ONCE;
}

/** Returns the number of kept entries that is enough for `lost` to go: more need not be counted. */
function enoughKept(lost: number): number {
  if (lost < 2) return 0;
  return isMuch(lost) ? lost : 1;
}

/** Returns `undefined` if the loss is allowed, otherwise the reason code of the halt. */
export function checkLoss({ lost, kept }: Loss): "root-emptied" | "mass-deletion" | undefined {
  if (kept >= enoughKept(lost)) return undefined;
  return kept === 0 ? "root-emptied" : "mass-deletion";
}

type Counted = Omit<Losses, "halted" | "ignored">;

/**
 * The time for which a deletion is remembered, so that it counts with later ones as one large deletion. Entries that
 * came within this time do not count as kept.
 */
export const MEMORY_MS = 10_000;

/** Up to this many deleted entries are probably all of them, so the wait for more is short. */
const FEW = 3;
const MOMENT_MS = 100;

/** The wait if more entries have gone, which may be the beginning of a large deletion. */
const QUIET_MS = 400;

/** The most waits in a row for a deletion that is not large yet. After that, somebody deletes continually. */
const MOST_WAITS = 10;

/**
 * The most waits, and the milliseconds of each, before a large deletion at the origin halts the sync. The deletion may
 * be the first half of a slow rename there, or its entries may be back by now and not have arrived yet.
 */
const MOST_DOUBTS = 5;
const DOUBT_MS = 1_000;

const NONE: Counted = { local: 0, upstream: 0, older: { local: 0, upstream: 0 } };

/** Remembers recent deletions: a large deletion is seen in several pieces. */
export class RecentDeletions {
  readonly #timers: Timers;
  #recent: Counted = NONE;
  /** Deletions of earlier generations are forgotten. */
  #generation = 0;
  #last: Lost = NONE;
  #waits = 0;
  #doubts = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** The recent deletions that were carried out, on each side. */
  get recent(): Counted {
    return this.#recent;
  }

  /**
   * Returns the milliseconds to wait until no more entries go, or `undefined` to wait no longer. More entries gone than
   * at the last call may be the beginning of a large deletion. `found`: the halt that would follow.
   */
  waitFor(
    { halted, ignored = NONE, ...weighed }: Lost & Partial<Pick<Losses, "halted" | "ignored">>,
    found?: ReplicaHalt,
  ): number | undefined {
    // Ignored paths may be the first piece of a deletion that counts.
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
   * Notes deletions that were carried out. `isAccepted`: a person knows of them and of those before, so that none of
   * them counts with the next ones.
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
