import type { Context } from "./context.ts";
import { optional } from "../../util/optional.ts";

export interface OwnerProcess {
  /** `null` if the recorded work does not end with a process. */
  readonly pid: number | null;
  /**
   * A mark that distinguishes the process from earlier and later processes with the same number. Absent if only the
   * number is known.
   */
  readonly pidMark?: string;
  /**
   * The PID namespace in which the process has the number. Absent if unknown, which counts as the present namespace.
   */
  readonly pidSpace?: string;
}

type Machine = Pick<Context, "processes">;

/**
 * The number of hours after which work counts as abandoned if it has no owner process, or if its owner process belongs
 * to another PID namespace.
 */
export const UNOWNED_HOURS = 24;

/**
 * True if this is the process id of an owner: a number above 0, or `undefined` or `null` for work that does not end
 * with a process.
 */
export function isOwnerId(pid: unknown): pid is number | null | undefined {
  return pid === undefined || pid === null || (Number.isSafeInteger(pid) && (pid as number) > 0);
}

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

/**
 * True if the number belongs to another PID namespace, such as a container's. In the present namespace, the number
 * belongs to another process or to none.
 */
export function isElsewhere({ processes }: Machine, { pidSpace }: OwnerProcess): boolean {
  return pidSpace !== undefined && pidSpace !== processes.pidSpace;
}

/**
 * Returns the number of the owner process. If this process belongs to another PID namespace, returns -1, which is the
 * number of no process.
 */
export function numberHere(machine: Machine, owner: OwnerProcess): number | null {
  return owner.pid !== null && isElsewhere(machine, owner) ? -1 : owner.pid;
}

/** True if the owner is a running process of this PID namespace, not a later process with the same number. */
export function isHere(machine: Machine, owner: OwnerProcess): boolean {
  const { processes } = machine;
  const { pid, pidMark } = owner;
  // To the system, 0 and negative numbers stand for process groups, and such a group always exists.
  if (pid === null || pid <= 0 || isElsewhere(machine, owner)) return false;
  if (pid !== processes.pid && !processes.isAlive(pid)) return false;
  return pidMark === undefined || (processes.markOf(pid) ?? pidMark) === pidMark;
}

/**
 * True if the owner of recorded work is alive, or the work has no owner process. A process of another PID namespace
 * counts as gone. Otherwise the unfinished work of a killed container would never end, because a restarted container
 * has a new namespace.
 */
export function isOwnerAlive(machine: Machine, owner: OwnerProcess): boolean {
  return owner.pid === null || isHere(machine, owner);
}

/**
 * True if the owner of recorded work may be alive. Callers check this before they change files on behalf of work whose
 * owner seems to be gone, for example by a rollback. A process of another PID namespace cannot be seen. It counts as
 * alive for `UNOWNED_HOURS` after `started`, because rolling back the work of a living process is worse than waiting
 * for a dead one.
 */
export function mayHaveOwner(
  context: Pick<Context, "processes" | "now">,
  owner: OwnerProcess,
  started: string,
): boolean {
  if (isOwnerAlive(context, owner)) return true;
  // A start time more than `UNOWNED_HOURS` in the future, from a clock that ran ahead, is not believed.
  return isElsewhere(context, owner) && Math.abs(context.now() - Date.parse(started)) < UNOWNED_HOURS * 3_600_000;
}
