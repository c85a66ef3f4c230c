import type { Around } from "../core/agents-role.ts";
import { ChronicleError } from "../core/errors.ts";
import { answer } from "../workspace/answer.ts";
import { openBrackets } from "../workspace/brackets.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

/** Clocks are told in whole ticks, and a process is known before it is recorded. */
const SLACK_MS = 2_000;

/** A process that an agent or a run has named as its own, and when it last did, in milliseconds since the epoch. */
interface Owner {
  readonly pid: number;
  readonly at: number;
}

/**
 * Was this process started by an agent? By one whose session or action is open in a workspace of the store, or by the command of a run. Known
 * is what hooks and runs have recorded: their processes. One that began after it was recorded is another one that has the number of
 * a dead one. A process that has left its parents (`setsid`) is not found.
 */
export async function isWithinAgent(parts: StoreParts, whose: Around = "agents and runs"): Promise<boolean> {
  const { processes } = parts.backends;
  const around = new Set(await processes.ancestors(processes.pid));
  if (around.size === 0) return false;
  const isSame = ({ pid, at }: Owner): boolean => (processes.startedAt(pid) ?? at) <= at + SLACK_MS;
  for (const id of workspaceIds(parts)) {
    for (const owner of await ownersIn(parts, id, whose)) if (around.has(owner.pid) && isSame(owner)) return true;
  }
  return false;
}

/** The processes of what agents and runs have open. A history that cannot be read names none. */
async function ownersIn(parts: StoreParts, id: string, whose: Around): Promise<Owner[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      return await answer(context, async ({ head }) => {
        const { actions, runs, agents } = await openBrackets(context, head);
        const open = whose === "agents" ? agents : [...runs, ...agents];
        const sessions = open.map(({ record, ts }) => ({ pid: record.pid, at: Date.parse(ts) }));
        const owners = [...sessions, ...actions.map(({ pid, ts }) => ({ pid: pid ?? 0, at: Date.parse(ts) }))];
        return owners.filter(({ pid }) => pid > 1);
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}
