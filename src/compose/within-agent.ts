import type { Around } from "../core/values/agents-role.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { answer } from "../engine/log/answer.ts";
import { openBrackets } from "../engine/facts/brackets.ts";
import { isHere, type OwnerProcess } from "../engine/log/owner-process.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

/**
 * True if this process was started by an agent whose session or action is open in a workspace of the store, or (unless
 * `whose` is `agents`) by the command of a run. It compares the processes that hooks and runs have recorded, and does
 * not mistake another process that was given the number of a dead one. A process that has left its parents (`setsid`)
 * is not found.
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

/** Returns the processes of open sessions, runs and actions. Returns none for a history that cannot be read. */
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
