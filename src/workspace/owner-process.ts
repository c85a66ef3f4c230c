import type { Context } from "./context.ts";

/** A process as a record names it. */
export interface OwnerProcess {
  /** `null`: there is none whose end would end what the record is about. */
  readonly pid: number | null;
  /** What tells it from others that have, had or will get its number; not there: only the number is known. */
  readonly pidMark?: string;
}

/** A process as it is recorded. Default: this one. */
export function ownerOf<T extends number | null = number>(
  { processes }: Pick<Context, "processes">,
  pid: T | undefined = processes.pid as T,
): { readonly pid: T; readonly pidMark?: string } {
  const pidMark = pid === null || pid <= 0 ? undefined : processes.markOf(pid);
  return { pid, ...(pidMark === undefined ? {} : { pidMark }) };
}

/** Is the process that a record names there still, and not another one that was given its number since? */
export function isOwnerAlive({ processes }: Pick<Context, "processes">, { pid, pidMark }: OwnerProcess): boolean {
  if (pid === null) return true;
  if (pid !== processes.pid && !processes.isAlive(pid)) return false;
  return pidMark === undefined || (processes.markOf(pid) ?? pidMark) === pidMark;
}
