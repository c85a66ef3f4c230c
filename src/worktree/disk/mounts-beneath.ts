import type { Disk } from "../../disk/disk.ts";
import { readProcFile } from "../../disk/read-disk-file.ts";

/**
 * Returns a text that changes when something is mounted or unmounted at or beneath these folders. The text has the
 * lines of proc_pid_mountinfo(5) for these mount points, and is empty on a machine without /proc.
 */
export function mountsBeneath(disk: Disk, folders: readonly string[]): string {
  const lines = (readProcFile(disk, "/proc/self/mountinfo") ?? "").split("\n");
  const isBeneath = (line: string): boolean => {
    const [, , , , point = ""] = line.split(" ", 5);
    const at = point.replaceAll(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    return folders.some((folder) => at === folder || at.startsWith(folder === "/" ? folder : `${folder}/`));
  };
  return lines.filter(isBeneath).join("\n");
}
