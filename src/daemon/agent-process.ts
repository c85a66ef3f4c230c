import { basename } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";

/** Matches the names of programs that may run between an agent and its hook, and that end with the hook. */
const BETWEEN = /^(sh|bash|dash|zsh|ksh|fish|ash|busybox|env|timeout|chronicle-hook|perl)$/;
/** The maximum number of processes that are examined. */
const MOST_STEPS = 6;

/**
 * Returns the id of the agent's process: either the process that started the hook (`parent`), or an ancestor of that
 * process. The agent's open actions are abandoned when the agent's process has ended. Returns `null` if the process
 * cannot be found (no /proc, a different PID namespace, too many processes in between). In this case, open actions are
 * abandoned only at the agent's next turn or at the end of its session.
 */
export function agentProcess(disk: Disk, parent: number | undefined): number | null {
  let pid = parent;
  for (let step = 0; step < MOST_STEPS && pid !== undefined && pid > 1; step += 1) {
    const found = processAt(disk, pid);
    if (found === undefined) return null;
    if (!isBetween(disk, pid, found.name)) return pid;
    pid = found.parent;
  }
  return null;
}

/** Returns the name and the parent of a process; `undefined` if the process cannot be found (see `agentProcess`). */
export function processAt(disk: Disk, pid: number): { readonly name: string; readonly parent: number } | undefined {
  // The format is `pid (name) state ppid …` (proc_pid_stat(5)). The name may contain any characters, including `)`.
  const fields = /^\d+ \((.*)\) \S (\d+) /s.exec(procText(disk, `/proc/${pid}/stat`) ?? "");
  return fields === null ? undefined : { name: fields[1] ?? "", parent: Number(fields[2]) };
}

/**
 * Returns true for a process between the agent and its hook. A script that a shell runs is taken for a wrapper of the
 * hook. A script has a name of its own, so the program that runs the script is checked, too.
 */
function isBetween(disk: Disk, pid: number, name: string): boolean {
  if (BETWEEN.test(name)) return true;
  const program = orNothing(() => disk.readlink(`/proc/${pid}/exe`).toString());
  return program !== undefined && BETWEEN.test(basename(program));
}

/** The number of bytes that are read at once. Most files of /proc are shorter. */
const PIECE_BYTES = 4 * 1024;

/**
 * Reads a file of /proc to its end, because /proc does not report the sizes of its files. Returns `undefined` if the
 * file cannot be read.
 */
export function procText(disk: Disk, path: string): string | undefined {
  return orNothing(() => {
    const fd = disk.open(path, "read");
    try {
      const pieces: Buffer[] = [];
      for (;;) {
        const piece = Buffer.allocUnsafe(PIECE_BYTES);
        const count = disk.read(fd, piece, null);
        if (count === 0) return Buffer.concat(pieces).toString("utf8");
        pieces.push(piece.subarray(0, count));
      }
    } finally {
      disk.close(fd);
    }
  });
}

/**
 * Returns the result of `work`; `undefined` after a system error. For a file of /proc, such an error usually means that
 * the process has ended or belongs to another user.
 */
export function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
