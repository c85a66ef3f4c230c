import { basename, dirname, join, resolve } from "node:path";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { Disk } from "./disk.ts";
import { liesIn } from "./lies-in.ts";
import { isIn } from "../core/tree/root-place.ts";

/** As many links on the way to a place as Linux follows. */
const MOST_LINKS = 40;

/**
 * Throws `UNSAFE` for a place that somebody names to be written to (a summary, a folder to be filled, a backup, a socket) and that is
 * one of Chronicle's own folders, or lies in it: what is written there would destroy recorded history or the key, or make a token.
 * `path`: absolute, there or not. `folders`: the store and the configuration folder. `what`: what would be written.
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
 * The one of these folders that a path is, or in which it lies: its name, or what a link of that name leads to. The path need not be
 * there. `undefined`: none.
 */
export function ownFolderAround(disk: Disk, path: string, folders: readonly string[]): string | undefined {
  const leads = leadsTo(disk, path, { left: MOST_LINKS });
  // A file that is replaced leaves the link of its name to whoever replaces it: both places count.
  const named = path === "/" ? path : join(leadsTo(disk, dirname(path), { left: MOST_LINKS }), basename(path));
  const places = [...new Set([leads, named])];
  return folders.find((folder) => {
    const own = leadsTo(disk, folder, { left: MOST_LINKS });
    return places.some((place) => isIn(place, own) || liesIn(disk, existing(disk, place), own));
  });
}

/** Where a path is or will be, with every link resolved: those, too, that lead to nothing so far. */
function leadsTo(disk: Disk, path: string, hops: { left: number }): string {
  try {
    return disk.realpath(path);
  } catch (error) {
    // There is nothing, or it cannot be looked at: then it cannot be written to either, and whoever writes says so.
    if (errnoOf(error) === undefined) throw error;
  }
  if (path === "/") return path;
  const folder = leadsTo(disk, dirname(path), hops);
  const place = join(folder, basename(path));
  if (hops.left === 0 || kindOf(disk, place) !== "symlink") return place;
  hops.left -= 1;
  return leadsTo(disk, resolve(folder, disk.readlink(place).toString()), hops);
}

/** The part of a path that exists. */
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
