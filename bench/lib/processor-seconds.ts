import { readFileSync } from "node:fs";

/**
 * The number of clock ticks per second (USER_HZ). `/proc` counts processor time in these ticks. The number is 100 on
 * every architecture that Node supports on Linux.
 */
const TICKS_PER_SECOND = 100;

/** Returns the processor time of the present process and of its ended children, in seconds. Elsewhere than on Linux: 0. */
export function processorSecondsOfAll(): number {
  if (process.platform !== "linux") return 0;
  return timesOf("self")
    .slice(0, 4)
    .reduce((sum, ticks) => sum + ticks / TICKS_PER_SECOND, 0);
}

/**
 * Returns the processor time that a process has used so far, in seconds: user and system time of all its threads. Linux
 * only. Throws if there is no such process.
 */
export function processorSeconds(pid: number): number {
  const [user = Number.NaN, system = Number.NaN] = timesOf(pid);
  return (user + system) / TICKS_PER_SECOND;
}

/** Returns `utime`, `stime` and the same of ended children (fields 14 to 17 of `/proc/PID/stat`), in ticks. */
function timesOf(pid: number | "self"): number[] {
  // Field 2 of the line is the program's name in parentheses, which can have spaces and parentheses. `after` therefore
  // begins with field 3.
  const [, after = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(/\) (?!.*\) )/s);
  return after.split(" ").slice(11, 15).map(Number);
}
