import type { Sweep } from "../core/action-targets.ts";
import type { Aside } from "../core/aside.ts";
import type { Omission } from "../core/coverage.ts";
import { sweepsName } from "../core/name-sweep.ts";
import { isWithin, splitRoot, type WorkspacePath } from "../core/path.ts";
import { capture } from "./capture.ts";
import { workspaceRecord } from "./own-record.ts";
import type { Context } from "./context.ts";
import { keepAside, privateOf } from "./keep-aside.ts";
import { isExcludedByPerson, statOmitted } from "./omitted-changes.ts";

/** Paths that a tool names, and the names that it sweeps. */
interface Sweeping {
  readonly paths: readonly WorkspacePath[];
  readonly swept?: readonly Sweep[];
}

/** The paths that a tool is about to sweep away, and how each is kept. */
export interface Swept {
  /** Paths that are captured by name. */
  readonly named: readonly WorkspacePath[];
  /** Small files that git ignores, kept aside as before a run. */
  readonly aside: Aside | undefined;
}

/**
 * The paths that a tool is about to sweep away (`rm -rf *`, `git clean -fdx`) and that a look at the whole workspace does
 * not take: those that a rule keeps out, and those that cannot be kept. Once they are gone nobody has them. Paths that a
 * person excluded are never stored. Contents are durable when it resolves: the caller holds a lease of the blob store.
 */
export async function keepSwept(context: Context, { paths, swept: sweeps = [] }: Sweeping): Promise<Swept> {
  if (sweeps.length === 0) return { named: [], aside: undefined };
  const isNamed = ({ path }: Omission): boolean => paths.some((one) => isWithin(path, one));
  const swept = (await omittedIn(context, sweeps)).filter((one) => !isExcludedByPerson(one) && !isNamed(one));
  const ignored = privateOf(await statOmitted(context, { omitted: swept }));
  const isOff = (await workspaceRecord(context)).keepsAside === false;
  const { entries, aside } = await keepAside(context, ignored);
  const isAside = (path: WorkspacePath): boolean => entries.has(path) || (isOff && ignored.has(path));
  return { named: swept.map(({ path }) => path).filter((path) => !isAside(path)), aside };
}

async function omittedIn(context: Context, sweeps: readonly Sweep[]): Promise<Omission[]> {
  const { coverage } = await capture(context, { cause: "capture" });
  const found: Omission[] = [];
  for (const one of coverage.omitted) {
    const { path, reason } = one;
    // A FIFO or another device's folder holds nothing that could be kept; of what is off the record nothing is.
    if (reason === "special" || reason === "other-device" || reason === "off-record") continue;
    for (const sweep of sweeps) {
      if (!isSwept(path, sweep)) continue;
      if (!sweep.deep && (await context.worktree.inspect(path))?.kind === "dir") continue;
      found.push(one);
      break;
    }
  }
  return found;
}

/** Is it one of the names, or beneath one? */
function isSwept(path: WorkspacePath, sweep: Sweep): boolean {
  const { root, deep } = sweep;
  const split = splitRoot(path);
  const [top = "", ...inner] = split.path.split("/");
  return split.root === root && (deep || inner.length === 0) && sweepsName(sweep, top);
}
