import { errnoOf } from "../core/values/errors.ts";
import { isOneName } from "../core/tree/find-collisions.ts";
import { isIn } from "../core/tree/root-place.ts";
import { decodeName } from "../core/values/path.ts";
import type { Disk } from "./disk.ts";

/**
 * Is a path a folder, or does it lie in it, by its own path, or since one on the way is that folder: by another spelling, or a bind
 * mount? Both: without links. Of what lies in `path` only the part that exists is looked at.
 */
export function liesIn(disk: Disk, path: string, folder: string): boolean {
  if (isIn(path, folder) || isIn(spelled(disk, path), spelled(disk, folder))) return true;
  const wanted = disk.lstat(folder);
  for (let at = path; ; at = at.slice(0, at.lastIndexOf("/")) || "/") {
    const stat = disk.lstat(at);
    if (stat !== undefined && stat.ino === wanted?.ino && stat.dev === wanted.dev) return true;
    if (at === "/") return false;
  }
}

/** A folder by the names under which those on the way to it list them: some disks make up other numbers for each spelling. */
function spelled(disk: Disk, folder: string): string {
  const names = folder.split("/").filter((name) => name !== "");
  return names.reduce((above, name) => `${above}/${listedName(disk, above === "" ? "/" : above, name)}`, "");
}

/** The name by which a folder lists a file: on a disk that folds names, others lead to it as well. */
export function listedName(disk: Disk, folder: string, name: string): string {
  try {
    const names = disk.list(folder).map((one) => decodeName(one.name));
    const folded = { caseInsensitive: true, normalise: true };
    return names.includes(name) ? name : (names.find((one) => isOneName(one, name, folded)) ?? name);
  } catch (error) {
    // A folder that may be entered, and not be listed.
    if (errnoOf(error) === undefined) throw error;
    return name;
  }
}
