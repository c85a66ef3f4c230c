import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Only by absolute names: what is run here must not depend on anybody's PATH. */
const PROGRAMS = ["/usr/bin/sync", "/bin/sync"];

/** What is synced: the file system of the program's standard input. */
const OPERANDS = ["-f", "/proc/self/fd/0"];

/** Looked for once: the program that can sync one file system. Its `path` is undefined where there is none. */
let program: { readonly path: string | undefined } | undefined;

/**
 * Makes everything durable on the file system that an open folder lies on (`syncfs`). False: it cannot be done here.
 * Throws `EIO` when it was tried and failed; as after every failed sync, it is not known then what is durable.
 *
 * Node has no `syncfs`. GNU coreutils (8.24 and later) have: `sync -f`. The folder is handed over as an open descriptor,
 * so that it is this folder whatever its name means by now. Since Linux 5.8 `syncfs` reports writes that failed before.
 */
export function syncFileSystem(fd: number): boolean {
  program ??= { path: findProgram() };
  if (program.path === undefined) return false;
  const run = spawnSync(program.path, OPERANDS, { stdio: [fd, "ignore", "ignore"], env: {} });
  return run.error === undefined && isSynced(run.status);
}

/** The same, beside what else this thread does; the descriptor stays open until it has ended. */
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

/** Others (busybox) may take `-f` for something else, or for nothing. */
function isCapable(path: string): boolean {
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8", env: {} });
  const [, major = "0", minor = "0"] = /^sync \(GNU coreutils\) (\d+)\.(\d+)/.exec(stdout) ?? [];
  return Number(major) > 8 || (Number(major) === 8 && Number(minor) >= 24);
}
