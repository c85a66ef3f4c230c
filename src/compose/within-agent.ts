import type { Around, WorkAround } from "../core/values/agents-role.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { answer } from "../engine/log/answer.ts";
import { openBrackets, type OpenSession } from "../engine/facts/brackets.ts";
import { isHere, type OwnerProcess } from "../engine/log/owner-process.ts";
import { openContext, type StoreParts } from "./open-context.ts";
import { storeTasks, workspaceIds } from "./store-tasks.ts";

/**
 * Returns work that is open in the store and that an ancestor of the process `pid` (default: this process) owns: an agent's session, an action of
 * any actor, or a run. With `agents` as `whose`, runs do not count. Returns `undefined` if there is no such work. The
 * owners are known because hooks, runs and actions record the processes to which they belong. The recorded mark
 * (`pidMark`) distinguishes an owner from a later process with the same id. Without a mark, only the id is compared. An
 * owner is not found if a process between the owner and this process has ended, as after `setsid`.
 */
export async function workAround(
  parts: StoreParts,
  whose: Around = "agents and runs",
  pid = parts.backends.processes.pid,
): Promise<WorkAround | undefined> {
  const { processes } = parts.backends;
  const around = new Set(await processes.ancestors(pid));
  if (around.size === 0) return undefined;
  for (const id of workspaceIds(parts)) {
    for (const { pid: owned, owner, ...work } of await workIn(parts, id, whose)) {
      if (owned !== null && owned > 1 && around.has(owned) && isHere({ processes }, owner))
        return { ...work, pid: owned };
    }
  }
  return undefined;
}

interface OwnedWork extends Omit<WorkAround, "pid"> {
  readonly pid: number | null;
  readonly owner: OwnerProcess;
}

function ofSession(kind: "session" | "run", { id, record }: OpenSession): OwnedWork {
  return { kind, id, actor: record.actor, pid: record.pid, owner: record };
}

/** Returns the open work of a workspace with its owners; an empty list if the history cannot be read. */
async function workIn(parts: StoreParts, id: string, whose: Around): Promise<OwnedWork[]> {
  try {
    const { context, close } = await openContext(parts, id, { tasks: storeTasks(parts, id), readOnly: true });
    try {
      return await answer(context, async ({ head }) => {
        const { actions, runs, agents } = await openBrackets(context, head);
        return [
          ...agents.map((one) => ofSession("session", one)),
          ...(whose === "agents" ? [] : runs.map((one) => ofSession("run", one))),
          ...actions.map((one) => ({
            kind: "action" as const,
            id: one.id,
            actor: one.actor,
            pid: one.pid,
            owner: one,
          })),
        ];
      });
    } finally {
      await close();
    }
  } catch (error) {
    if (error instanceof ChronicleError) return [];
    throw error;
  }
}
