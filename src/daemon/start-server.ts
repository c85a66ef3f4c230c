import { spawn } from "node:child_process";
import { join } from "node:path";
import { ROLE_VARIABLE } from "../core/values/agents-role.ts";
import type { Disk } from "../disk/disk.ts";
import { addDiagnostic } from "./diagnostics.ts";
import type { RunFolder } from "./run-folder.ts";
import { writeSmall } from "./run-folder.ts";

/** The default of `againMs`. The pause keeps hooks from starting a process that cannot run again at each call. */
const AGAIN_MS = 15_000;
/** The time without requests after which the process ends, in seconds. */
const IDLE_SECONDS = 900;

export interface StartServer {
  readonly run: RunFolder;
  readonly home: string;
  readonly launcher: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The minimum time between two starts, in milliseconds (default 15,000). */
  readonly againMs?: number;
}

/**
 * Starts the long-lived process of a store. Does nothing and returns false if a start was tried less than `againMs`
 * ago. Otherwise returns true, without waiting for the process. A failed start is noted in the diagnostics.
 */
export function startServer(disk: Disk, { run, home, launcher, env, againMs = AGAIN_MS }: StartServer): boolean {
  const mark = join(run.folder, "starting");
  const tried = disk.lstat(mark)?.mtimeNs;
  const sinceMs = tried === undefined ? Infinity : Date.now() - Number(tried / 1_000_000n);
  // A mark with a time in the future is ignored, because the clock was set back after the mark was written.
  if (sinceMs >= 0 && sinceMs < againMs) return false;
  writeSmall(disk, mark, String(process.pid));
  const args = [launcher, "serve", "--store", home, "--idle", String(IDLE_SECONDS), "--quiet"];
  // The process does not inherit the role of the caller that starts it, because it serves all callers.
  const own = { ...env, [ROLE_VARIABLE]: undefined };
  const child = spawn(process.execPath, args, { cwd: run.folder, env: own, detached: true, stdio: "ignore" });
  child.on("error", (error) => addDiagnostic(disk, run.folder, `the server could not be started: ${error.message}`));
  child.unref();
  return true;
}
