import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Absolute names only: the programs that run here must not depend on anybody's PATH. */
const PROGRAMS = ["/usr/bin/sync", "/bin/sync"];

/** Syncs the file system of the program's standard input. */
const OPERANDS = ["-f", "/proc/self/fd/0"];

/** The program that can sync one file system, searched once. `path` is `undefined` if there is none. */
let program: { readonly path: string | undefined } | undefined;

/**
 * Makes everything durable on the file system of an open folder (`syncfs`). Returns false if this cannot be done here.
 * Throws `EIO` if it was tried and failed; as after every failed sync, it is then unknown what is durable.
 *
 * Node has no `syncfs`, but GNU coreutils (8.24 and later) do: `sync -f`. The folder is passed as an open descriptor,
 * so that it is this folder whatever its name now means. Since Linux 5.8 `syncfs` reports earlier failed writes.
 */
export function syncFileSystem(fd: number): boolean {
  program ??= { path: findProgram() };
  if (program.path === undefined) return false;
  const run = spawnSync(program.path, OPERANDS, { stdio: [fd, "ignore", "ignore"], env: {} });
  return run.error === undefined && isSynced(run.status);
}

/** The same, beside this thread's other work. The descriptor must stay open until it has ended. */
export async function syncFileSystemBeside(fd: number): Promise<boolean> {
  program ??= { path: findProgram() };
  if (program.path === undefined) return false;
  const run = spawn(program.path, OPERANDS, { stdio: [fd, "ignore", "ignore"], env: {} });
  const ended = Promise.withResolvers<number | null | undefined>();
  run.on("error", () => ended.resolve(undefined));
  run.on("exit", (status) => ended.resolve(status));
  const status = await ended.promise;
  return status !== undefined && isSynced(status);
}

function isSynced(status: number | null): true {
  if (status === 0) return true;
  throw Object.assign(new Error("EIO: the file system could not be synced, syncfs"), {
    code: "EIO",
    syscall: "syncfs",
  });
}

function findProgram(): string | undefined {
  if (process.platform !== "linux" || !existsSync("/proc/self/fd")) return undefined;
  return PROGRAMS.find((path) => existsSync(path) && isCapable(path));
}

/** True for GNU coreutils. Others (busybox) may ignore `-f` or give it another meaning. */
function isCapable(path: string): boolean {
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8", env: {} });
  const [, major = "0", minor = "0"] = /^sync \(GNU coreutils\) (\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 8 || (Number(major) === 8 && Number(minor) >= 24);
}
