import { ChronicleError } from "../core/errors.ts";
import { answer } from "../workspace/answer.ts";
import { openBrackets } from "../workspace/brackets.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

/**
 * Was this process started by an agent? By one whose session or action is open in a workspace of the store, or by the command of a run. Known
 * is what hooks and runs have recorded: their processes. A process that has left its parents (`setsid`) is not found.
 */
export async function isWithinAgent(parts: StoreParts): Promise<boolean> {
  const { processes } = parts.backends;
  const around = new Set(await processes.ancestors(processes.pid));
  if (around.size === 0) return false;
  for (const id of workspaceIds(parts)) {
    for (const pid of await ownersIn(parts, id)) if (around.has(pid)) return true;
  }
  return false;
}

/** The processes of what agents and runs have open. A history that cannot be read names none. */
async function ownersIn(parts: StoreParts, id: string): Promise<number[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      return await answer(context, async ({ head }) => {
        const { actions, runs, agents } = await openBrackets(context, head);
        const sessions = [...runs, ...agents].map(({ record }) => record.pid);
        return [...sessions, ...actions.map(({ pid }) => pid ?? 0)].filter((pid) => pid > 1);
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}
