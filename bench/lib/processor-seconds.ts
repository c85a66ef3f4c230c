import { readFileSync } from "node:fs";

/**
 * The number of clock ticks per second (USER_HZ). `/proc` counts processor time in these ticks. The number is 100 on
 * every architecture that Node supports on Linux.
 */
const TICKS_PER_SECOND = 100;

/**
 * Returns the processor time that a process has used so far, in seconds: user and system time of all its threads. Linux
 * only. Throws if there is no such process.
 */
export function processorSeconds(pid: number): number {
  // Field 2 of the line is the program's name in parentheses, which can have spaces and parentheses. `after` therefore
  // begins with field 3, and `utime` and `stime` (fields 14 and 15) are at the indexes 11 and 12.
  const [, after = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(/\) (?!.*\) )/s);
  const fields = after.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
