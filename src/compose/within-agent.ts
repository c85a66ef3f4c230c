import type { Around } from "../core/values/agents-role.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { answer } from "../engine/log/answer.ts";
import { openBrackets } from "../engine/facts/brackets.ts";
import { isHere, type OwnerProcess } from "../engine/log/owner-process.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

/**
 * True if an ancestor of this process owns an agent's open session, an open action (of any actor), or (unless `whose`
 * is `agents`) a run in a workspace of the store. Owners are the processes that hooks, runs and actions have recorded.
 * If a dead owner's process id was reused, the recorded mark (`pidMark`) tells the new process apart. Without a mark,
 * only the id is compared. An owner is not found once a process between the owner and this one has ended (`setsid`).
 */
export async function isWithinAgent(parts: StoreParts, whose: Around = "agents and runs"): Promise<boolean> {
  const { processes } = parts.backends;
  const around = new Set(await processes.ancestors(processes.pid));
  if (around.size === 0) return false;
  for (const id of workspaceIds(parts)) {
    for (const owner of await ownersIn(parts, id, whose)) {
      if (owner.pid !== null && around.has(owner.pid) && isHere({ processes }, owner)) return true;
    }
  }
  return false;
}

/** Returns no owners for a history that cannot be read. */
async function ownersIn(parts: StoreParts, id: string, whose: Around): Promise<OwnerProcess[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      return await answer(context, async ({ head }) => {
        const { actions, runs, agents } = await openBrackets(context, head);
        const open = whose === "agents" ? agents : [...runs, ...agents];
        const owners: OwnerProcess[] = [...open.map(({ record }) => record), ...actions];
        return owners.filter(({ pid }) => pid !== null && pid > 1);
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}
