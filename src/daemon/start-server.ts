import { spawn } from "node:child_process";
import { join } from "node:path";
import { ROLE_VARIABLE } from "../core/values/agents-role.ts";
import type { Disk } from "../disk/disk.ts";
import { addDiagnostic } from "./diagnostics.ts";
import type { RunFolder } from "./run-folder.ts";
import { writeSmall } from "./run-folder.ts";

/** Default for `againMs`: a process that cannot run is not started again at every hook. */
const AGAIN_MS = 15_000;
/** The process leaves after this many seconds without a request. */
const IDLE_SECONDS = 600;

export interface StartServer {
  readonly run: RunFolder;
  /** The store's folder. */
  readonly home: string;
  /** `bin/chronicle.js`. */
  readonly launcher: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Shortest time between two starts, in milliseconds (default 15,000). */
  readonly againMs?: number;
}

/**
 * Starts the long-lived process in the background, unless that was tried a moment ago. Returns whether it was started.
 */
export function startServer(disk: Disk, { run, home, launcher, env, againMs = AGAIN_MS }: StartServer): boolean {
  const mark = join(run.folder, "starting");
  const tried = disk.lstat(mark)?.mtimeNs;
  const sinceMs = tried === undefined ? Infinity : Date.now() - Number(tried / 1_000_000n);
  // A mark of the future is from before the clock was set back.
  if (sinceMs >= 0 && sinceMs < againMs) return false;
  writeSmall(disk, mark, String(process.pid));
  const args = [launcher, "serve", "--store", home, "--idle", String(IDLE_SECONDS), "--quiet"];
  // The process serves all callers, so it does not inherit the role of the caller that starts it.
  const own = { ...env, [ROLE_VARIABLE]: undefined };
  const child = spawn(process.execPath, args, { cwd: run.folder, env: own, detached: true, stdio: "ignore" });
  child.on("error", (error) => addDiagnostic(disk, run.folder, `the server could not be started: ${error.message}`));
  child.unref();
  return true;
}
