import type { Sweep } from "../core/action-targets.ts";
import { sweepsName } from "../core/name-sweep.ts";
import { splitRoot, type WorkspacePath } from "../core/path.ts";
import { capture } from "./capture.ts";
import type { Context } from "./context.ts";

/**
 * The paths that a tool is about to sweep away (`rm -rf *`, `git clean -fdx`) and that a look at the whole workspace does
 * not take: those that a rule keeps out, and those that cannot be kept. Once they are gone nobody has them.
 */
export async function sweptPaths(context: Context, swept: readonly Sweep[]): Promise<WorkspacePath[]> {
  if (swept.length === 0) return [];
  const { coverage } = await capture(context, { cause: "capture" });
  const found: WorkspacePath[] = [];
  for (const { path, reason } of coverage.omitted) {
    // A FIFO or another device's folder holds nothing that could be kept; of what is off the record nothing is.
    if (reason === "special" || reason === "other-device" || reason === "off-record") continue;
    for (const sweep of swept) {
      if (!isSwept(path, sweep)) continue;
      if (!sweep.deep && (await context.worktree.inspect(path))?.kind === "dir") continue;
      found.push(path);
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
