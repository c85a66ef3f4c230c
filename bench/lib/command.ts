import { spawn, spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A program to run. */
export interface Command {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** The whole environment of the program. Default: the environment of the present process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Returns the basic environment of all measured programs. Only the search path is taken from the present process. */
export function baseEnv(home: string): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: home, LC_ALL: "C.UTF-8", NO_COLOR: "1" };
}

/** Runs the commands one after the other. Returns the seconds that they took together. Throws like `runCommand`. */
export function timeCommands(commands: readonly Command[]): number {
  let seconds = 0;
  for (const command of commands) {
    const started = process.hrtime.bigint();
    runCommand(command);
    seconds += Number(process.hrtime.bigint() - started) / 1e9;
  }
  return seconds;
}

/**
 * Runs a command and returns its output on stdout. Throws if the command fails. The error has the end of the output on
 * stderr. The output goes to files, because a pipe could slow the command down.
 */
export function runCommand(command: Command): string {
  const [program = "", ...args] = command.argv;
  const folder = mkdtempSync(join(tmpdir(), "chronicle-bench-out-"));
  const out = openSync(join(folder, "out"), "w");
  const err = openSync(join(folder, "err"), "w");
  try {
    const run = spawnSync(program, args, { cwd: command.cwd, env: command.env, stdio: ["ignore", out, err] });
    if (run.error) throw run.error;
    if (run.status !== 0) {
      const stderr = readFileSync(join(folder, "err"), "utf8").slice(-2000);
      throw new Error(`${command.argv.join(" ")} ended with ${run.status ?? run.signal}: ${stderr}`);
    }
    return readFileSync(join(folder, "out"), "utf8");
  } finally {
    closeSync(out);
    closeSync(err);
    rmSync(folder, { recursive: true });
  }
}

const POLL_MS = 10;

/**
 * Runs a command and resolves to its peak resident memory in bytes: the largest high-water mark (VmHWM) of any of its
 * processes. Rejects if the command fails. Linux only. The marks are read every 10 ms. They never fall, so the result
 * can only miss a peak in the last 10 ms of a process.
 */
export async function peakMemory(command: Command): Promise<number> {
  const [program = "", ...args] = command.argv;
  const child = spawn(program, args, { cwd: command.cwd, env: command.env, stdio: "ignore" });
  let peak = 0;
  const timer = setInterval(() => {
    for (const pid of descendants(child.pid ?? 0)) peak = Math.max(peak, highWaterMark(pid));
  }, POLL_MS);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  }).finally(() => clearInterval(timer));
  if (code !== 0) throw new Error(`${command.argv.join(" ")} ended with ${code}`);
  return peak;
}

/** Returns the ids of a process and of all its descendants. */
function descendants(pid: number): number[] {
  const found = [pid];
  for (const parent of found) {
    for (const task of listTasks(parent)) {
      const children = readProc(`/proc/${parent}/task/${task}/children`) ?? "";
      for (const child of children.split(" ")) if (child !== "") found.push(Number(child));
    }
  }
  return found;
}

function listTasks(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** Returns the peak of a process's resident memory so far, in bytes; 0 if the process has ended. Linux only. */
export function highWaterMark(pid: number): number {
  const kib = /^VmHWM:\s+(\d+) kB$/m.exec(readProc(`/proc/${pid}/status`) ?? "")?.[1];
  return Number(kib ?? 0) * 1024;
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** Returns true if a file of `/proc` could not be read because its process has ended. */
function isGone(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT" || code === "ESRCH";
}
