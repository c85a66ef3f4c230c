import { basename } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";

/** Programs that may run between an agent and its hook, and end with the hook. */
const BETWEEN = /^(sh|bash|dash|zsh|ksh|fish|ash|busybox|env|timeout|chronicle-hook|perl)$/;
const MOST_STEPS = 6;

/**
 * Returns the agent's own process, found from the process that started a hook. When that process has ended, the actions
 * it left open are abandoned. Returns `null` if it cannot be found (no /proc, another PID namespace): then open actions
 * are abandoned only at the agent's next turn, or at the end of its session.
 */
export function agentProcess(disk: Disk, parent: number | undefined): number | null {
  let pid = parent;
  for (let step = 0; step < MOST_STEPS && pid !== undefined && pid > 1; step += 1) {
    // proc_pid_stat(5): `pid (name) state ppid …`; the name may hold anything, also `)`.
    const stat = procText(disk, `/proc/${pid}/stat`);
    const fields = /^\d+ \((.*)\) \S (\d+) /s.exec(stat ?? "");
    if (fields === null) return null;
    if (!isBetween(disk, pid, fields[1] ?? "")) return pid;
    pid = Number(fields[2]);
  }
  return null;
}

/**
 * True for a process between agent and hook. A script has its own name but runs in a shell: it is a wrapper of the
 * hook.
 */
function isBetween(disk: Disk, pid: number, name: string): boolean {
  if (BETWEEN.test(name)) return true;
  const program = orNothing(() => disk.readlink(`/proc/${pid}/exe`).toString());
  return program !== undefined && BETWEEN.test(basename(program));
}

/** The number of bytes that are read at once: most files of /proc are shorter. */
const PIECE_BYTES = 4 * 1024;

/** Reads a file of /proc, whose size is unknown, as text; `undefined` if there is none, or it is not ours to read. */
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
 * Returns the result of `work`; `undefined` after a system error: a process has ended meanwhile, or belongs to another
 * user.
 */
export function orNothing<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}
