import { join } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";

/** True if any workspace of the store follows or followed an origin. Looks only for folders, and opens no workspace. */
export function hasReplicas(disk: Disk, home: string): boolean {
  const folder = join(home, "workspaces");
  return namesIn(disk, folder).some((id) => hasReplica(disk, home, id));
}

/** True if a workspace of the store follows or followed an origin. */
export function hasReplica(disk: Disk, home: string, workspace: string): boolean {
  return disk.lstat(join(home, "workspaces", workspace, "upstream"))?.kind === "dir";
}

function namesIn(disk: Disk, folder: string): string[] {
  try {
    return disk.list(folder).map(({ name }) => name.toString());
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
