import { execFile } from "node:child_process";
import { errnoOf } from "../core/values/errors.ts";
import { notStarted } from "../core/shell/not-started.ts";
import { sha256 } from "../core/values/hash.ts";
import type { Disk } from "../disk/disk.ts";
import { runCommand } from "../util/run-command.ts";
import type { CommandEnd, CommandSurroundings } from "../api/workspace-api.ts";
import type { Processes } from "../engine/log/context.ts";
import { optional } from "../util/optional.ts";

/** Returns the processes of this machine. `disk` must contain the machine's /proc, if there is one. */
export function nodeProcesses(disk: Disk): Processes {
  // Remember the mark of this process, because each operation asks for it several times.
  let ownMark: string | undefined;
  return {
    pid: process.pid,
    isAlive: (pid) => isAlive(disk, pid),
    isStopped: (pid) => stateOf(disk, pid) === "stopped",
    ancestors: (pid) => ancestors(disk, pid),
    markOf: (pid) => (pid === process.pid ? (ownMark ??= markOf(disk, pid)) : markOf(disk, pid)),
    pidSpace: pidSpaceOf(disk),
    run,
  };
}

/**
 * Returns the inode of this process's PID namespace; `undefined` without /proc. A process never changes its namespace
 * (pid_namespaces(7)).
 */
function pidSpaceOf(disk: Disk): string | undefined {
  try {
    return /^pid:\[(\d+)\]$/.exec(disk.readlink("/proc/self/ns/pid").toString())?.[1];
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

const MARK_DIGITS = 16;

/**
 * Returns a mark of a process: a hash of the machine's boot id, the process's start time and the pid. Setting a clock
 * changes none of these. The start time is in ticks since the boot (field 22 in proc_pid_stat(5), the 20th after the
 * name). The pid is included, because several processes can start in one tick. The mark is a hash, because the log goes
 * to other machines. Returns `undefined` if the process is gone or there is no /proc. Also returns `undefined` if this
 * process cannot read the boot id. Otherwise, a process that can read the boot id would compute another mark for the
 * same process.
 */
function markOf(disk: Disk, pid: number): string | undefined {
  const stat = readStart(disk, `/proc/${pid}/stat`);
  const ticks = stat === undefined ? undefined : stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  if (ticks === undefined || !/^\d+$/.test(ticks)) return undefined;
  const boot = readStart(disk, "/proc/sys/kernel/random/boot_id")?.trim() ?? "";
  if (boot === "") return undefined;
  return sha256(`${boot} ${ticks} ${pid}`).slice(0, MARK_DIGITS);
}

/**
 * The maximum number of ancestors that are followed. The chain of parents may become a cycle if pids are reused during
 * the search.
 */
const MOST_ANCESTORS = 1_000;

async function ancestors(disk: Disk, pid: number): Promise<readonly number[]> {
  const parentOf = parentIn(disk, pid) === undefined ? await parentsByPs() : (one: number) => parentIn(disk, one);
  const found: number[] = [];
  let parent = parentOf(pid);
  while (parent !== undefined && parent > 0 && found.length < MOST_ANCESTORS) {
    found.push(parent);
    parent = parentOf(parent);
  }
  return found;
}

/**
 * Returns a process's parent; `undefined` if `stat` cannot be read. In proc_pid_stat(5), the parent is the second field
 * after the name.
 */
function parentIn(disk: Disk, pid: number): number | undefined {
  const stat = readStart(disk, `/proc/${pid}/stat`);
  const parent = stat === undefined ? null : /^ \S (\d+) /.exec(stat.slice(stat.lastIndexOf(")") + 1));
  return parent === null ? undefined : Number(parent[1]);
}

/**
 * Resolves to a function that returns a process's parent, from one listing of POSIX `ps`. If `ps` fails, the function
 * returns `undefined` for every process.
 */
async function parentsByPs(): Promise<(pid: number) => number | undefined> {
  const { promise, resolve } = Promise.withResolvers<string>();
  execFile("ps", ["-A", "-o", "pid=", "-o", "ppid="], (_error, stdout) => resolve(stdout));
  const rows = (await promise).matchAll(/^\s*(\d+)\s+(\d+)\s*$/gm);
  const parents = new Map([...rows].map(([, pid, parent]) => [Number(pid), Number(parent)]));
  return (pid) => parents.get(pid);
}

function isAlive(disk: Disk, pid: number): boolean {
  if (pid === process.pid) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return stateOf(disk, pid) !== "dead";
}

/**
 * The number of bytes that are read from the start of a file in /proc. These bytes include the start time in a `stat`
 * line, because a name has at most 64 bytes and a number at most 20.
 */
const STAT_BYTES = 1_024;

/**
 * Returns `dead` for a zombie (state `Z`) or a dead process (`X`), and `stopped` for a process that a signal or a
 * debugger has stopped (`T`, `t`). Returns `undefined` for all other states, and if the state is unknown. This check is
 * needed because `kill` succeeds even for a zombie. In proc_pid_stat(5), the state is the letter after the last `)`.
 */
function stateOf(disk: Disk, pid: number): "dead" | "stopped" | undefined {
  const stat = readStart(disk, `/proc/${pid}/stat`);
  const letter =
    stat
      ?.slice(stat.lastIndexOf(")") + 1)
      .trimStart()
      .charAt(0) ?? "";
  if (/[ZX]/.test(letter)) return "dead";
  return /[Tt]/.test(letter) ? "stopped" : undefined;
}

function readStart(disk: Disk, path: string): string | undefined {
  let fd: number;
  try {
    fd = disk.open(path, "read");
  } catch {
    return undefined;
  }
  try {
    const bytes = Buffer.alloc(STAT_BYTES);
    return bytes.toString("latin1", 0, disk.read(fd, bytes, null));
  } catch {
    // The process ended after the file was opened.
    return undefined;
  } finally {
    disk.close(fd);
  }
}

async function run(command: readonly string[], options: CommandSurroundings): Promise<CommandEnd> {
  const { cwd, descriptors, bytes, moreEnv } = options;
  // The environment is only passed to the child process. The child would inherit the environment anyway.
  // oxlint-disable-next-line node/no-process-env
  const env = { ...(options.env ?? process.env), ...moreEnv };
  try {
    const more = { ...optional({ descriptors, bytes }) };
    return await runCommand(command, { cwd, env, ...more });
  } catch (error) {
    throw notStarted(command[0] ?? "", error);
  }
}
