import type { Context } from "./context.ts";
import { optional } from "../../util/optional.ts";

/** The process that owns recorded work, such as a run. If the process ends, its work counts as abandoned. */
export interface OwnerProcess {
  /** The process id; `null` if no process owns the work, so that the work does not end with a process. */
  readonly pid: number | null;
  /**
   * A mark that distinguishes the process from earlier and later processes with the same id. Absent if only the id is
   * known.
   */
  readonly pidMark?: string;
  /**
   * The PID namespace in which the process has this id. If the field is absent, the namespace is unknown, and is taken
   * for the present one.
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
 * True if a caller may give this value as the owner of work: the id of a process (a number above 0), `null` for no
 * process, or `undefined` for the default.
 */
export function isOwnerId(pid: unknown): pid is number | null | undefined {
  return pid === undefined || pid === null || (Number.isSafeInteger(pid) && (pid as number) > 0);
}

/**
 * Returns the process `pid` (default: this process) as an owner, with its mark and its PID namespace, if they are
 * known.
 */
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
 * True if the owner belongs to another PID namespace, such as a container's. In the present namespace, the id of the
 * owner then belongs to another process or to none.
 */
export function isElsewhere({ processes }: Machine, { pidSpace }: OwnerProcess): boolean {
  return pidSpace !== undefined && pidSpace !== processes.pidSpace;
}

/**
 * Returns the process id of the owner; `null` if there is no owner process. Returns -1, which is the id of no process,
 * if the owner belongs to another PID namespace.
 */
export function numberHere(machine: Machine, owner: OwnerProcess): number | null {
  return owner.pid !== null && isElsewhere(machine, owner) ? -1 : owner.pid;
}

/** True if the owner is a running process of this PID namespace, and not a later process with the same id. */
export function isHere(machine: Machine, owner: OwnerProcess): boolean {
  const { processes } = machine;
  const { pid, pidMark } = owner;
  // The system takes 0 and negative numbers for process groups, and a check of such a group always succeeds.
  if (pid === null || pid <= 0 || isElsewhere(machine, owner)) return false;
  if (pid !== processes.pid && !processes.isAlive(pid)) return false;
  return pidMark === undefined || (processes.markOf(pid) ?? pidMark) === pidMark;
}

/**
 * True if the owner of recorded work is alive, or if the work has no owner process. A process of another PID namespace
 * counts as gone. If such a process counted as alive, the unfinished work of a killed container would never end,
 * because the restarted container has a new namespace.
 */
export function isOwnerAlive(machine: Machine, owner: OwnerProcess): boolean {
  return owner.pid === null || isHere(machine, owner);
}

/**
 * True if the owner of recorded work may be alive. Callers check this before they change files on behalf of work whose
 * owner seems to be gone, for example by a rollback. An owner in another PID namespace cannot be seen. Such an owner
 * counts as alive for `UNOWNED_HOURS` after `started`, because rolling back the work of a living process is worse than
 * waiting for a dead one.
 */
export function mayHaveOwner(
  context: Pick<Context, "processes" | "now">,
  owner: OwnerProcess,
  started: string,
): boolean {
  if (isOwnerAlive(context, owner)) return true;
  // A clock that ran ahead may have written a start time in the future. `Math.abs` bounds the wait for such work, too.
  return isElsewhere(context, owner) && Math.abs(context.now() - Date.parse(started)) < UNOWNED_HOURS * 3_600_000;
}
