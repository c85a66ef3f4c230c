import type { Sweep } from "../../core/records/action-targets.ts";
import type { Aside } from "../../core/records/aside.ts";
import type { Omission } from "../../core/records/coverage.ts";
import { sweepsName } from "../../core/filter/name-sweep.ts";
import { isWithin, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { addAll } from "../../util/long-lists.ts";
import { capture } from "./capture.ts";
import { workspaceRecord } from "../log/own-record.ts";
import type { Context } from "../log/context.ts";
import { gitStateNamed, isGitState } from "./git-state.ts";
import { keepAside, privateOf } from "./keep-aside.ts";
import { isExcludedByPerson, statOmitted } from "../facts/omitted-changes.ts";
import type { QuotaOptions } from "../log/quota.ts";

/** Paths that a tool names, and the names that it sweeps. */
interface Sweeping {
  readonly paths: readonly WorkspacePath[];
  readonly swept?: readonly Sweep[];
}

/** The paths that a tool is about to sweep away, and how each is kept. */
export interface Swept {
  /** Paths that are captured by name. */
  readonly named: readonly WorkspacePath[];
  /** Small files that git ignores, kept aside as before a run, and git's own state. */
  readonly aside: Aside | undefined;
  readonly git: SweptGit;
}

/** Git's own state that a tool is about to change. */
export interface SweptGit {
  readonly paths: readonly WorkspacePath[];
  /** The paths that are kept aside whole. */
  readonly kept: readonly WorkspacePath[];
  /** The paths that cannot be kept, and why. */
  readonly exposed: readonly Omission[];
}

/** The result if no repository is concerned. */
export const NO_GIT: SweptGit = { paths: [], kept: [], exposed: [] };

/**
 * The paths that a tool is about to sweep away (`rm -rf *`, `git clean -fdx`) and that a look at the whole workspace does
 * not take: those that a rule keeps out, and those that cannot be kept. Once they are gone nobody has them. Paths that a
 * person excluded are never stored. Contents are durable when it resolves: the caller holds a lease of the blob store.
 */
export async function keepSwept(
  context: Context,
  { paths, swept: sweeps = [] }: Sweeping,
  quota: QuotaOptions,
): Promise<Swept> {
  const tops = await gitStateNamed(context, paths);
  if (sweeps.length + tops.length === 0) return { named: [], aside: undefined, git: NO_GIT };
  const isNamed = ({ path }: Omission): boolean => paths.some((one) => isWithin(path, one));
  const found = sweeps.length === 0 ? [] : await omittedIn(context, sweeps);
  addAll(
    tops,
    found.filter(isGitState).map(({ path }) => path),
  );
  const swept = found.filter((one) => !isExcludedByPerson(one) && !isNamed(one) && !isGitState(one));
  const ignored = privateOf(await statOmitted(context, { omitted: swept }));
  const isOff = (await workspaceRecord(context)).keepsAside === false;
  const { entries, aside, exposed } = await keepAside(context, ignored, { tops, quota });
  const isAside = (path: WorkspacePath): boolean => entries.has(path) || (isOff && ignored.has(path));
  const git = { paths: tops, kept: tops.filter((path) => entries.has(path)), exposed };
  return { named: swept.map(({ path }) => path).filter((path) => !isAside(path)), aside, git };
}

/** A FIFO or another device's folder holds nothing that could be kept; of what is off the record or erased nothing is. */
const NEVER_KEPT: ReadonlySet<Omission["reason"]> = new Set(["special", "other-device", "off-record", "erased"]);

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

/** True if the path is one of the names, or beneath one. */
function isSwept(path: WorkspacePath, sweep: Sweep): boolean {
  const { root, deep } = sweep;
  const split = splitRoot(path);
  const [top = "", ...inner] = split.path.split("/");
  return split.root === root && (deep || inner.length === 0) && sweepsName(sweep, top);
}
