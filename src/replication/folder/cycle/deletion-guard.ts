import type { Entry } from "../../../core/values/entry.ts";
import { ROOT, type WorkspacePath } from "../../../core/values/path.ts";
import type { Kept, ReplicaHalt } from "../../../core/records/replica-record.ts";
import { both, settle, type Side } from "../../../core/tree/reconcile.ts";
import { withBreaths } from "../../../util/with-breaths.ts";
import { shownPath } from "../../../engine/log/shape.ts";
import type { CyclePath, SettledDecision } from "../ground/decide-cycle.ts";
import { checkLoss, countLost, enoughKept, type Loss } from "./guards.ts";
import type { IgnoredPaths } from "./ignored-paths.ts";
import type { CycleSides, FileHistory } from "./read-cycle.ts";
import { optional } from "../../../util/optional.ts";

/** Entries that went from the folder, and those that went from the origin. */
export interface Lost {
  readonly local: number;
  readonly upstream: number;
}

/** What a cycle would delete: what went from the folder at the origin, and what went from the origin in the folder. */
export interface Losses extends Lost {
  /** Those of them that the folder has had for a while, and not only for some seconds. */
  readonly older: Lost;
  /** Those that go as well, and count for nothing. */
  readonly ignored: Lost;
  readonly halted: { readonly [side in Side]?: ReplicaHalt };
}

const NOTHING: Lost = { local: 0, upstream: 0 };

/** Nothing goes. */
export const NO_LOSSES: Losses = { local: 0, upstream: 0, older: NOTHING, ignored: NOTHING, halted: {} };

/** What somebody has decided about much that is gone. */
export type LossDecision = "deletions" | "restore";

/** The sides that get back what is missing there. */
export function sidesKept(decided: LossDecision | Kept | undefined): readonly Side[] {
  if (decided === "both") return ["local", "remote"];
  return decided === "here" ? ["local"] : [];
}

/** The sides that get back what they have lost, where that is wanted: what has halted it may be too little by now to do so again. */
export function sidesToRestore({ halted, local, upstream }: Losses): ReadonlySet<Side> {
  const isHalted = halted.local !== undefined || halted.remote !== undefined;
  if (isHalted) return sidesOf(halted.local !== undefined, halted.remote !== undefined);
  return sidesOf(local > 0 || upstream === 0, upstream > 0 || local === 0);
}

function sidesOf(isLocal: boolean, isRemote: boolean): ReadonlySet<Side> {
  return new Set<Side>([...(isLocal ? (["local"] as const) : []), ...(isRemote ? (["remote"] as const) : [])]);
}

/** What the losses are weighed against. */
export interface LossGround extends Pick<
  CycleSides,
  "mirror" | "own" | "applied" | "head" | "local" | "rules" | "editorFiles"
> {
  /** Lost a moment ago: a deletion may be seen in several pieces. */
  readonly recent: Lost & Pick<Losses, "older">;
  /** The own event up to which everything was recorded some seconds ago already. Asked where something is lost. */
  readonly since: () => Promise<number>;
  /** What of a side the ignore rules leave out. */
  readonly ignored: (side: Side) => Pick<IgnoredPaths, "of">;
  /** Is the path's deletion on its way already? */
  readonly isSent: (path: WorkspacePath) => boolean;
}

/** A path that was there when both sides last agreed, or has come to one of them since. */
interface Passage {
  readonly path: WorkspacePath;
  readonly before: Entry | undefined;
  readonly after: Entry | undefined;
}

/**
 * Weighs what would be deleted on either side against what was there when both last agreed, on the side on which it went: what is
 * new there, what the other side has made meanwhile, and what does not go this way at all, is no part of what is left.
 */
export async function weighDeletions(
  paths: readonly CyclePath[],
  decisions: readonly SettledDecision[],
  ground: LossGround,
): Promise<Losses> {
  const { rules, isSent } = ground;
  const here = paths.flatMap(({ path, local: after, base, remote }): Passage[] => {
    const before = remote && base.entry;
    // Asked last: of very many that only come, nothing is to be known.
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

/** What one side has lost, what is left of it, as far as that was asked, and what it would be halted for. */
interface Weighed {
  readonly lost: number;
  readonly older: number;
  readonly kept: number;
  readonly halt?: ReplicaHalt | undefined;
}

/** What is weighed of a side. */
interface Weighing {
  readonly side: Side;
  readonly passages: readonly Passage[];
  /** Which of some paths count for nothing. `undefined`: all count. */
  readonly ignored?: Pick<IgnoredPaths, "of">;
}

/**
 * What the ignore rules leave out is nobody's work: it was recorded before they did, and counts for nothing. But where nothing else is
 * left, the whole side may be gone, and all of it counts.
 */
async function weigh(ground: LossGround, passages: readonly Passage[], side: Side): Promise<Weighed> {
  if (countLost(passages) === 0) return { lost: 0, older: 0, kept: 0 };
  const rules = ground.ignored(side);
  const ignored = await rules.of(passages.flatMap(({ before, after }) => before ?? after ?? []));
  if (ignored.size === 0) return weighThese(ground, { side, passages });
  const work = passages.filter(({ path }) => !ignored.has(path));
  const weighed = await weighThese(ground, { side, passages: work, ignored: rules });
  return weighed.halt !== undefined || weighed.kept > 0 ? weighed : weighThese(ground, { side, passages });
}

/**
 * Twice: what is lost now and was a moment ago, against all that is kept; and the same of what was there before that moment. Of a
 * deletion in two pieces only that is left over otherwise which came between them.
 */
async function weighThese(ground: LossGround, { side, passages, ignored }: Weighing): Promise<Weighed> {
  const lost = countLost(passages);
  const since = await ground.since();
  const gone = passages.filter(({ before, after }) => before !== undefined && after === undefined);
  const come = passages.filter(({ before, after }) => before === undefined && after !== undefined);
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
  /** So many need to be found, at most. */
  readonly enough: KeptCount;
  /** These have another name by now. */
  readonly moved: KeptCount;
  readonly ignored: Weighing["ignored"];
}

/** Entries that were there when both sides last agreed, and still are; and those of them that had been there before some seconds. */
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

/** Those of some paths at which there was something. */
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

/** What is said of a loss. */
interface Told {
  readonly side: Side;
  readonly gone: readonly Pick<Passage, "path">[];
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

/** The folder in which most of them were, where it is one at the top. */
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

/** Is there nothing at all on a side that concerns the other one? */
async function isBare({ own, local, mirror, head, rules }: LossGround, side: Side): Promise<boolean> {
  for await (const rows of withBreaths(side === "local" ? own.entriesAt(local) : mirror.entriesAt(head))) {
    if (rows.some(({ path, entry }) => path !== ROOT && rules.isShared(path, entry?.kind === "dir"))) return false;
  }
  return true;
}

/** Puts back what was lost on a side: there, everything that the other side still has, but for what is meant to be as it is. */
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
