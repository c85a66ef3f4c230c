import { ChronicleError } from "../../core/values/errors.ts";
import type { TrackedRoot } from "../../worktree/worktree.ts";
import { catchUp } from "./catch-up.ts";
import { workspaceRecord } from "./own-record.ts";
import type { Context } from "./context.ts";
import { memoKey } from "./memo.ts";

/**
 * Applies the changes that other processes made to the tracked roots and the retention limits. Callers that stay open
 * for long need this function. Returns true if the settings of the roots have changed. In that case, the next scan is a
 * full one, and the caller must restart its watcher, if it has one.
 */
export async function followSettings(context: Context): Promise<boolean> {
  await catchUp(context, { recover: false });
  return applySettings(context);
}

/** Like `followSettings`, for a caller that has just caught up with the log. */
export async function applySettings(context: Context): Promise<boolean> {
  await rereadRetention(context);
  const { roots: wanted } = await workspaceRecord(context);
  const roots = context.worktree.roots.map((root): TrackedRoot => {
    const found = wanted.find((one) => (one.id ?? undefined) === root.id);
    return found === undefined ? root : { ...root, filter: found.filter, limits: found.limits };
  });
  if (JSON.stringify(roots) === JSON.stringify(context.worktree.roots)) return false;
  context.worktree.configure(roots);
  context.live.giveBack(undefined);
  return true;
}

const told = memoKey<string>("limits that cannot be understood");

/** Rereads the retention limits. If they are invalid, the earlier limits stay in force, and people are told once. */
async function rereadRetention({ retention, memo, tell }: Context): Promise<void> {
  try {
    await retention.reread();
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "USAGE") throw error;
    if (memo.get(told) === error.message) return;
    memo.set(told, error.message);
    tell?.(`${error.message}: the limits stay as they were`);
  }
}
