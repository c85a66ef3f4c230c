import type { Sweep } from "../../core/records/action-targets.ts";
import type { Aside } from "../../core/records/aside.ts";
import { isMeant, type Omission, reasonsWith } from "../../core/records/coverage.ts";
import { sweepsName } from "../../core/filter/name-sweep.ts";
import { isWithin, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { capture } from "./capture.ts";
import { OffRecordLook } from "../facts/off-record-look.ts";
import { type Context, isHosted } from "../log/context.ts";
import { isGitState, outermost } from "./git-state.ts";
import { personalRules } from "./kept-trees.ts";
import { isIgnoredByGit, keepTrees } from "./keep-aside.ts";
import type { QuotaOptions } from "../log/quota.ts";

interface Touching {
  readonly paths: readonly WorkspacePath[];
  readonly swept?: readonly Sweep[];
}

export interface LeftOut {
  /** The existing paths that no capture takes, at and beneath the paths that the tool names. */
  readonly named: readonly Omission[];
  /** The paths that are kept aside whole: what git ignores, and git's own state. */
  readonly kept: readonly Omission[];
  /** The paths that the tool may change or remove although they cannot be kept. */
  readonly exposed: readonly Omission[];
  readonly aside: Aside | undefined;
}

export const NOTHING_LEFT_OUT: LeftOut = { named: [], kept: [], exposed: [], aside: undefined };

/**
 * Keeps aside the paths that a tool is about to touch and that no capture takes. Chronicle does not record such a path,
 * even if a tool names the path. If Chronicle did, a caller could get any file recorded and served. Ignored paths are
 * kept privately. Paths that a person excluded are not kept, but only listed in `named`. Contents are durable when the
 * promise resolves. The caller must hold a lease of the blob store, which protects new contents from the collector.
 */
export async function keepLeftOut(
  context: Context,
  { paths, swept: sweeps = [] }: Touching,
  quota: QuotaOptions,
): Promise<LeftOut> {
  if (isHosted(context.worktree.roots) || paths.length + sweeps.length === 0) return NOTHING_LEFT_OUT;
  const named = await leftOutAt(context, paths);
  const isNamed = ({ path }: Omission): boolean => paths.some((one) => isWithin(path, one));
  const swept = sweeps.length === 0 ? [] : (await omittedIn(context, sweeps)).filter((one) => !isNamed(one));
  const trees = new Map([...named, ...swept].filter(isTree).map((one) => [one.path, one]));
  const { entries, aside, exposed, excluded } = await keepTrees(context, outermost(trees.keys()), quota);
  const kept = [...trees.values()].filter(({ path }) => entries.has(path));
  return { named: [...named, ...excluded], kept, exposed: [...exposed, ...swept.filter(isExposed)], aside };
}

/**
 * Returns the parts of git's own state that a command is about to touch according to its command line. Such a part is a
 * whole `.git`, or a path in `.git` that the command line names. `there`: the omissions of a capture that has just been
 * made.
 */
export function gitTouchedBy({ paths, swept = [] }: Touching, there: readonly Omission[]): readonly Omission[] {
  return there.filter(isGitState).flatMap((one) => {
    const isWhole = paths.some((path) => isWithin(one.path, path)) || swept.some((sweep) => isSwept(one.path, sweep));
    if (isWhole) return [one];
    return paths.filter((path) => isWithin(path, one.path)).map((path) => ({ ...one, path }));
  });
}

function isTree(one: Omission): boolean {
  return isIgnoredByGit(one) || isGitState(one);
}

/**
 * Returns true for a path that cannot be kept. Returns false for an unstable path, because such a path is tracked and
 * is read again.
 */
function isExposed(one: Omission): boolean {
  return one.reason === "store" || (!isMeant(one) && one.reason !== "unstable");
}

/**
 * Returns the existing paths that no capture takes, at and beneath the given paths. Reads contents only to recognise
 * paths that are off the record.
 */
async function leftOutAt(context: Context, paths: readonly WorkspacePath[]): Promise<Omission[]> {
  if (paths.length === 0) return [];
  const { omitted } = await context.worktree.scan({ only: paths, exact: true }, () => undefined);
  if (omitted.length === 0) return [];
  const found = new Map<WorkspacePath, Omission>();
  const stats = await context.worktree.stats(paths);
  for (const one of omitted) {
    for (const [i, path] of paths.entries()) {
      if (isWithin(one.path, path)) found.set(one.path, one);
      // A rule leaves out a folder above the path.
      else if (isWithin(path, one.path) && one.reason === "excluded" && stats[i] !== undefined)
        found.set(path, { ...one, path });
    }
  }
  // If a rule of git leaves out a folder, the scan does not report a person's rule for a path in that folder.
  const byPerson = personalRules(context);
  const all = [...found.values()].map((one) => {
    const rule = isIgnoredByGit(one) ? byPerson(one.path, false) : undefined;
    return rule === undefined ? one : { ...one, detail: rule };
  });
  return (await (await OffRecordLook.of(context, { only: paths }))?.renamed(all)) ?? all;
}

/**
 * The omission reasons for which nothing is kept. Special files have no content, and folders of other devices do not
 * belong to the workspace. Contents that are off the record or erased must not be kept.
 */
const NEVER_KEPT = reasonsWith("neverKept");

async function omittedIn(context: Context, sweeps: readonly Sweep[]): Promise<Omission[]> {
  const { coverage } = await capture(context, { cause: "capture" });
  const found: Omission[] = [];
  for (const one of coverage.omitted) {
    const { path, reason } = one;
    if (NEVER_KEPT.has(reason)) continue;
    for (const sweep of sweeps) {
      if (!isSwept(path, sweep)) continue;
      if (!sweep.deep && (await context.worktree.inspect(path))?.kind === "dir") continue;
      found.push(one);
      break;
    }
  }
  return found;
}

/** Returns true if the path has a swept name, or, in a deep sweep, lies beneath a path with such a name. */
function isSwept(path: WorkspacePath, sweep: Sweep): boolean {
  const { root, deep } = sweep;
  const split = splitRoot(path);
  const [top = "", ...inner] = split.path.split("/");
  return split.root === root && (deep || inner.length === 0) && sweepsName(sweep, top);
}
