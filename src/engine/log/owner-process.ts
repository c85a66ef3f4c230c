import type { Context } from "./context.ts";
import { optional } from "../../util/optional.ts";

/** A process as a record names it. */
export interface OwnerProcess {
  /** `null`: there is none whose end would end what the record is about. */
  readonly pid: number | null;
  /** What tells it from others that have, had or will get its number; not there: only the number is known. */
  readonly pidMark?: string;
  /** The PID namespace in which it has that number; not there: that is not known, and is taken for this one. */
  readonly pidSpace?: string;
}

type Machine = Pick<Context, "processes">;

/** So long may go by before nobody is taken to finish what no process owns, and what one owns of which nothing can be seen here. */
export const UNOWNED_HOURS = 24;

/** A process as it is recorded. Default: this one. */
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

/** Does its number mean another process here, or none, as that of a process in a container does outside of it? */
export function isElsewhere({ processes }: Machine, { pidSpace }: OwnerProcess): boolean {
  return pidSpace !== undefined && pidSpace !== processes.pidSpace;
}

/** The number by which a process is known here; one that no process has where its number is of another PID namespace. */
export function numberHere(machine: Machine, owner: OwnerProcess): number | null {
  return owner.pid !== null && isElsewhere(machine, owner) ? -1 : owner.pid;
}

/** Is it a process of this PID namespace that is there still, and not another one that was given its number since? */
export function isHere(machine: Machine, owner: OwnerProcess): boolean {
  const { processes } = machine;
  const { pid, pidMark } = owner;
  if (pid === null || isElsewhere(machine, owner)) return false;
  if (pid !== processes.pid && !processes.isAlive(pid)) return false;
  return pidMark === undefined || (processes.markOf(pid) ?? pidMark) === pidMark;
}

/**
 * Whether what a record is about still has an owner. A process of another PID namespace counts as gone: a container that was killed and
 * started again has another one, and work that nobody ends would keep the folder from being recorded.
 */
export function isOwnerAlive(machine: Machine, owner: OwnerProcess): boolean {
  return owner.pid === null || isHere(machine, owner);
}

/**
 * Whether what a record is about may still have an owner, for what changes files where there is none, as the rollback of a transaction
 * does. Nothing can be seen of a process of another PID namespace: it counts as alive for some hours from `started` on, because
 * rolling back the work of a living process is worse than waiting for a dead one.
 */
export function mayHaveOwner(
  context: Pick<Context, "processes" | "now">,
  owner: OwnerProcess,
  started: string,
): boolean {
  if (isOwnerAlive(context, owner)) return true;
  // A clock that ran ahead does not keep it for longer.
  return isElsewhere(context, owner) && Math.abs(context.now() - Date.parse(started)) < UNOWNED_HOURS * 3_600_000;
}
