import { ChronicleError } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { processPath } from "../disk/process-path.ts";

/**
 * Throws `USAGE` for a path through `/proc/self`: the caller may be another process, and mean its own. `path`: absolute.
 */
export function refuseProcessPath(disk: Disk, path: string): void {
  const led = processPath(disk, path);
  if (led === undefined) return;
  throw new ChronicleError("USAGE", `${path} leads to ${led}, which is another place in each process`, {
    hint: "give the folder's own path",
    data: { path },
  });
}
