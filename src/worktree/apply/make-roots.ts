import type { Disk } from "../../disk/disk.ts";
import type { OpenRoot } from "../scan/scan.ts";
import type { ApplyRequest } from "../worktree.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import { ROOT, splitRoot } from "../../core/values/path.ts";
import { optional } from "../../util/optional.ts";
import { standsInPlace } from "../scan/root-away.ts";
import { folderOf } from "../../disk/write-fully.ts";

/**
 * Makes the tracked folders again that are not there and are to hold something. Whoever asks has looked at them: one whose
 * contents are recorded, and that is not there, is no plan's (see `ScanRequest.absentRoot`). What was interrupted makes none:
 * its disk may not be mounted.
 * Such a folder is its user's alone: its mode is not recorded, and a wider one could show to others what was kept from them.
 */
export function makeRoots(disk: Disk, roots: readonly OpenRoot[], { changes, resume }: ApplyRequest): void {
  if (resume === true) return;
  for (const { root, fs } of roots) {
    if (fs.lstat(ROOT) !== undefined) continue;
    if (!changes.some(({ path, after }) => after !== undefined && splitRoot(path).root === root.id)) continue;
    makeRoot(disk, root.folder);
  }
}

function makeRoot(disk: Disk, folder: string): void {
  try {
    disk.makeFolder(folder);
    disk.syncFolder(folderOf(folder));
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    const obstacle = errno === "EEXIST" ? standsInPlace(disk, folder) : undefined;
    const why = obstacle === undefined ? errno : `${obstacle} stands in its place`;
    const hint = errno === "ENOENT" ? "make the folder that held it, and try again" : undefined;
    throw new ChronicleError("IO", `the tracked folder ${folder} could not be made again: ${why}`, {
      ...optional({ hint: obstacle === undefined ? hint : `move ${obstacle} away, and try again` }),
      data: { folder },
      cause: error,
    });
  }
}
