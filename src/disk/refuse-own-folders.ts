import { basename, dirname, join, resolve } from "node:path";
import { errnoOf, ChronicleError } from "../core/values/errors.ts";
import { isOneName } from "../core/tree/find-collisions.ts";
import { isIn } from "../core/tree/root-place.ts";
import { decodeName } from "../core/values/path.ts";
import type { Disk } from "./disk.ts";

/** The number of links that Linux follows in one path. */
const MOST_LINKS = 40;

/**
 * Throws `UNSAFE` if a place to be written to (a summary, a folder to be filled, a backup, a socket) is one of
 * Chronicle's own folders, or lies in such a folder. A write to such a place could destroy recorded history or the key,
 * or create a valid token. `path`: absolute, existing or not. `folders`: the store and the configuration folder.
 * `what`: what would be written.
 */
export function refuseOwnFolders(disk: Disk, path: string, what: string, folders: readonly string[]): void {
  const own = ownFolderAround(disk, path, folders);
  if (own === undefined) return;
  throw new ChronicleError(
    "UNSAFE",
    `${what} may not lead to ${path}: it lies in ${own}, where Chronicle keeps history and keys`,
    {
      hint: "name a place outside of Chronicle's store and of its configuration folder",
      data: { path, folder: own },
    },
  );
}

/**
 * Returns the folder of `folders` that a path is or lies in; `undefined` if there is none. If the path is a link, both
 * the link and its target are checked. The path need not exist.
 */
export function ownFolderAround(disk: Disk, path: string, folders: readonly string[]): string | undefined {
  const leads = leadsTo(disk, path, { left: MOST_LINKS });
  // A write may replace a link itself, or go to the target of the link, so both places are checked.
  const named = path === "/" ? path : join(leadsTo(disk, dirname(path), { left: MOST_LINKS }), basename(path));
  const places = [...new Set([leads, named])];
  return folders.find((folder) => {
    const own = leadsTo(disk, folder, { left: MOST_LINKS });
    return places.some((place) => isIn(place, own) || liesIn(disk, existing(disk, place), own));
  });
}

/** Returns a path with every link resolved. The path and the targets of its links need not exist. */
function leadsTo(disk: Disk, path: string, hops: { left: number }): string {
  try {
    return disk.realpath(path);
  } catch (error) {
    // The path is missing or cannot be examined. A path that cannot be examined cannot be written to either, and the
    // later write reports the error.
    if (errnoOf(error) === undefined) throw error;
  }
  if (path === "/") return path;
  const folder = leadsTo(disk, dirname(path), hops);
  const place = join(folder, basename(path));
  if (hops.left === 0 || kindOf(disk, place) !== "symlink") return place;
  hops.left -= 1;
  return leadsTo(disk, resolve(folder, disk.readlink(place).toString()), hops);
}

function existing(disk: Disk, path: string): string {
  return path === "/" || kindOf(disk, path) !== undefined ? path : existing(disk, dirname(path));
}

function kindOf(disk: Disk, path: string): string | undefined {
  try {
    return disk.lstat(path)?.kind;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * True if a path is this folder or lies in it. The path may name the folder by another spelling or by a bind mount.
 * Both paths must be free of links. Parts of `path` that do not exist are ignored.
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

/**
 * Returns the path in the spelling that the folders list. Other spellings must be converted before two paths are
 * compared, because some disks report another inode number for each spelling of a name.
 */
function spelled(disk: Disk, folder: string): string {
  const names = folder.split("/").filter((name) => name !== "");
  return names.reduce((above, name) => `${above}/${listedName(disk, above === "" ? "/" : above, name)}`, "");
}

/**
 * Returns a name in the spelling that its folder lists. On a disk that folds names, other spellings lead to the same
 * file.
 */
export function listedName(disk: Disk, folder: string, name: string): string {
  try {
    const names = disk.list(folder).map((one) => decodeName(one.name));
    const folded = { caseInsensitive: true, normalise: true };
    return names.includes(name) ? name : (names.find((one) => isOneName(one, name, folded)) ?? name);
  } catch (error) {
    // This process may enter the folder, but not list it.
    if (errnoOf(error) === undefined) throw error;
    return name;
  }
}
