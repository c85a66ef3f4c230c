import { ChronicleError } from "../core/values/errors.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../core/filter/filter.ts";
import { isStagingName } from "../core/tree/staging-folder.ts";
import type { Disk } from "../disk/disk.ts";
import { DiskWorktree, type DiskWorktreeOptions } from "../worktree/disk/disk-worktree.ts";
import type { Worktree } from "../worktree/worktree.ts";
import type { Backends } from "./backends.ts";
import { makeFolders } from "./file-head-keeper.ts";
import { wholePath } from "../core/tree/root-place.ts";

/** Throws `REFUSED` if a folder exists and is not empty, and `USAGE` if the path is not absolute. Creates nothing. */
export function refuseFilled(disk: Disk, given: string): void {
  const folder = wholePath("the folder", given);
  const names =
    disk.lstat(folder) === undefined ? [] : disk.list(disk.realpath(folder)).map(({ name }) => String(name));
  if (names.length === 0) return;
  const hint = "name an empty folder, or one that does not exist yet";
  throw new ChronicleError("REFUSED", `${folder} is not empty`, {
    hint: names.every(isStagingName)
      ? `it holds only ${names.join(", ")}, in which a restore prepares files: ${hint}; or, if no restore is running, remove what the folder holds`
      : hint,
  });
}

/** Returns a worktree on an empty folder. Makes the folder if it is missing. Throws the errors of `refuseFilled`. */
export function emptyWorktree(
  { disk, now }: Pick<Backends, "disk" | "now">,
  given: string,
  { workers, traitsOf }: Pick<DiskWorktreeOptions, "workers" | "traitsOf">,
): Worktree {
  const folder = wholePath("the folder", given);
  if (disk.lstat(folder) === undefined) makeFolders(disk, folder);
  const root = disk.realpath(folder);
  refuseFilled(disk, folder);
  const roots = [{ id: undefined, folder: root, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }];
  return new DiskWorktree({
    disk,
    roots,
    cacheFile: `${folder}.stat-cache`,
    staging: undefined,
    storeFolders: [],
    clock: now,
    workers,
    traitsOf,
  });
}
