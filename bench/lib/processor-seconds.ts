import { readFileSync } from "node:fs";

/** Jiffies in a second: USER_HZ, which is the same on all that Node runs on. */
const HZ = 100;

/** User and system time that a process has taken so far, with its threads. Linux only: /proc/PID/stat, fields 14 and 15. */
export function processorSeconds(pid: number): number {
  const [, after = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(/\) (?!.*\) )/s);
  const fields = after.split(" ");
  return (Number(fields[11]) + Number(fields[12])) / HZ;
}
