import { ROOT, type WorkspacePath } from "../../core/path.ts";
import type { ReplicaHalt } from "../../core/replica-record.ts";
import { both, settle, type Side } from "../../core/reconcile.ts";
import { withBreaths } from "../../util/with-breaths.ts";
import type { CyclePath, SettledDecision } from "./decide-cycle.ts";
import { checkLoss, countLost, countNew, isMuch } from "./guards.ts";
import type { FileHistory } from "./read-cycle.ts";
import type { ReplicatedPaths } from "./replicated-paths.ts";

/** What a cycle would delete on each side, and whether it may. */
export interface Losses {
  /** Entries that went from the folder, and are about to go from the origin. */
  readonly local: number;
  /** Entries that went from the origin, and are about to go from the folder. */
  readonly upstream: number;
  readonly halted: { readonly [side in Side]?: ReplicaHalt };
}

/** Nothing goes. */
export const NO_LOSSES: Losses = { local: 0, upstream: 0, halted: {} };

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
export interface LossGround {
  readonly rules: ReplicatedPaths;
  readonly own: FileHistory;
  readonly local: number;
  /** Lost a moment ago: a deletion may be seen in several pieces. */
  readonly recent: { readonly local: number; readonly upstream: number };
  /** Is the path's deletion on its way already? */
  readonly isSent: (path: WorkspacePath) => boolean;
}

/** Weighs what is gone on either side against what is left in the folder. */
export async function weighLosses(
  paths: readonly CyclePath[],
  decisions: readonly SettledDecision[],
  ground: LossGround,
): Promise<Losses> {
  const { rules, isSent } = ground;
  const fresh = paths.filter(
    ({ path, local: here, base, remote }) =>
      // Asked last: of very many that only come, nothing is to be known.
      ((remote && base.entry) === undefined) !== (here === undefined) &&
      rules.goesBack(path, here ?? base.entry) &&
      !isSent(path),
  );
  const here = fresh.map(({ base, local: now, remote }) => ({ before: remote && base.entry, after: now }));
  const local = countLost(here);
  const upstream = countLost(decisions.map(({ sides, decision }) => ({ before: sides.local, after: decision.local })));
  const halted: { local?: ReplicaHalt; remote?: ReplicaHalt } = {};
  const { recent } = ground;
  const gone = await weigh(ground, {
    lost: local === 0 ? 0 : local + recent.local,
    going: 0,
    fresh: local === 0 ? 0 : countNew(here),
    where: "here",
  });
  if (gone !== undefined) halted.local = gone;
  const there = await weigh(ground, {
    lost: upstream === 0 ? 0 : upstream + recent.upstream,
    going: upstream,
    fresh: 0,
    where: "at the origin",
  });
  if (there !== undefined) halted.remote = there;
  return { local, upstream, halted };
}

interface Weighing {
  readonly lost: number;
  /** So many of those that are there are about to go. */
  readonly going: number;
  /** So many were not there before. */
  readonly fresh: number;
  readonly where: string;
}

async function weigh(ground: LossGround, { lost, going, fresh, where }: Weighing): Promise<ReplicaHalt | undefined> {
  if (lost < 2) return undefined;
  const there = await countEntries(ground, isMuch(lost) ? Infinity : going + fresh + 1);
  const left = Math.max(0, there - going);
  return checkLoss({ lost, left: isMuch(lost) || left <= fresh ? left : undefined, fresh }, where);
}

/** How many entries the folder has of those that concern the origin; no more than `limit` are counted. */
async function countEntries({ own, local, rules }: LossGround, limit: number): Promise<number> {
  let count = 0;
  for await (const rows of withBreaths(own.entriesAt(local))) {
    count += rows.filter(({ path, entry }) => path !== ROOT && rules.isShared(path, entry?.kind === "dir")).length;
    if (count >= limit) break;
  }
  return count;
}

/** Puts back what was lost on a side: there, everything that the other side still has. */
export function putBack(decisions: readonly SettledDecision[], lostOn: Side): readonly SettledDecision[] {
  const other = lostOn === "local" ? "remote" : "local";
  return decisions.map((one) => {
    const { sides, decision } = one;
    const isLost = sides[lostOn] === undefined && sides[other] !== undefined && decision[other] === undefined;
    return isLost ? { ...one, decision: settle(sides, both(sides[other])) } : one;
  });
}
