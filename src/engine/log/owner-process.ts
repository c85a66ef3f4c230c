import type { Context } from "./context.ts";
import { optional } from "../../util/optional.ts";

/** A process as a record names it. */
export interface OwnerProcess {
  /** `null` if there is no process whose end would end the recorded work. */
  readonly pid: number | null;
  /** Tells it from others that have, had or will get its number; absent if only the number is known. */
  readonly pidMark?: string;
  /** The PID namespace in which it has that number; absent if unknown, which counts as this one. */
  readonly pidSpace?: string;
}

type Machine = Pick<Context, "processes">;

/** Hours after which work is given up if no process owns it, or if its owner cannot be seen from here. */
export const UNOWNED_HOURS = 24;

/** Returns a process as it is recorded. Default: this one. */
export function ownerOf<T extends number | null = number>(
  { processes }: Machine,
  pid: T | undefined = processes.pid as T,
): { readonly pid: T; readonly pidMark?: string; readonly pidSpace?: string } {
  if (pid === null || pid <= 0) return { pid };
  const { pidSpace } = processes;
  const pidMark = processes.markOf(pid);
  return {
    pid,
    ...optional({ pidMark, pidSpace }),
  };
}

/** True if its number means another process here, or none, as that of a process in a container does outside of it. */
export function isElsewhere({ processes }: Machine, { pidSpace }: OwnerProcess): boolean {
  return pidSpace !== undefined && pidSpace !== processes.pidSpace;
}

/**
 * Returns the number by which a process is known here; one that no process has, if its number is of another PID
 * namespace.
 */
export function numberHere(machine: Machine, owner: OwnerProcess): number | null {
  return owner.pid !== null && isElsewhere(machine, owner) ? -1 : owner.pid;
}

/**
 * True if it is a process of this PID namespace that still runs, and not another one that was given its number since.
 */
export function isHere(machine: Machine, owner: OwnerProcess): boolean {
  const { processes } = machine;
  const { pid, pidMark } = owner;
  if (pid === null || isElsewhere(machine, owner)) return false;
  if (pid !== processes.pid && !processes.isAlive(pid)) return false;
  return pidMark === undefined || (processes.markOf(pid) ?? pidMark) === pidMark;
}

/**
 * True if recorded work still has an owner. A process of another PID namespace counts as gone: a container that was
 * killed and started again has another one, and work that nobody ends would keep the folder from being recorded.
 */
export function isOwnerAlive(machine: Machine, owner: OwnerProcess): boolean {
  return owner.pid === null || isHere(machine, owner);
}

/**
 * True if recorded work may still have an owner. For callers that change files if it has none, as the rollback of a
 * transaction does. A process of another PID namespace cannot be seen: it counts as alive for some hours from `started`
 * on, because rolling back the work of a living process is worse than waiting for a dead one.
 */
export function mayHaveOwner(
  context: Pick<Context, "processes" | "now">,
  owner: OwnerProcess,
  started: string,
): boolean {
  if (isOwnerAlive(context, owner)) return true;
  // A start time in the future, of a clock that ran ahead, does not prolong this.
  return isElsewhere(context, owner) && Math.abs(context.now() - Date.parse(started)) < UNOWNED_HOURS * 3_600_000;
}
