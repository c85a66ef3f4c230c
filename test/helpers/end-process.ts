import { readFileSync } from "node:fs";
import { vi } from "vitest";

/**
 * Ends a process that is not a child of the test, and waits until it has ended, because it writes into its store until
 * then.
 */
export async function endProcess(pid: number, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  process.kill(pid, signal);
  await vi.waitUntil(() => !isRunning(pid), { timeout: 60_000, interval: 20 });
}

/**
 * True if a process is running. A process that has ended, but for which nobody has waited (a zombie), still accepts
 * signals. Its state in proc_pid_stat(5) shows that it has ended.
 */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH" || code === "ENOENT") return false;
    throw error;
  }
}
