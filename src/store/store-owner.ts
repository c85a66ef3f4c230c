import { join } from "node:path";
import type { DoctorCheck } from "../api/store-api.ts";
import { errnoOf, ChronicleError } from "../core/values/errors.ts";
import type { Disk, FileStat } from "../disk/disk.ts";
import { userName, asOwner, effectiveUser } from "../disk/kept-owners.ts";
import { refusedWrite } from "../disk/probe-writes.ts";
import { quotePath } from "../core/shell/quote-command.ts";
import { addAll } from "../util/long-lists.ts";

interface StorePlaces {
  readonly home: string;
  readonly configFolder: string;
}

/**
 * Maps a place (the store, or the configuration folder) to the folder that is made first in it. The owner of that
 * folder is the user of the place. The place itself may belong to root, because it may be a mount point.
 */
const FIRST = { home: "workspaces", configFolder: "heads" } as const;

interface Place {
  readonly folder: string;
  readonly first: string;
  readonly owner: number;
}

function placesOf(disk: Disk, given: StorePlaces): Place[] {
  return (["home", "configFolder"] as const).map((name) => {
    const folder = given[name];
    const first = `${folder}/${FIRST[name]}`;
    return { folder, first, owner: ownerOf(disk, first) };
  });
}

/**
 * Returns the owner of a folder. For a missing folder, returns this process's user. If that user is root, returns the
 * owner of the nearest existing folder above.
 */
function ownerOf(disk: Disk, folder: string): number {
  const own = effectiveUser();
  for (let at = folder; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const uid = uidOf(disk, at);
    if (uid !== undefined) return uid;
    if (own !== 0) return own;
  }
  return own;
}

function uidOf(disk: Disk, path: string): number | undefined {
  try {
    return disk.lstat(path)?.uid;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Makes the user of each place (the store, and the configuration folder) the owner of everything that this process
 * makes in that place. Otherwise, the user could neither read nor replace those files. Returns false if folders that
 * this process makes in the store would not belong to the user of the store.
 */
export function keepOwners(disk: Disk, places: StorePlaces): boolean {
  let mayMake = true;
  for (const { folder, owner } of placesOf(disk, places)) {
    disk.keepTo(folder, owner);
    if (folder === places.home) mayMake = disk.makesFor(owner);
  }
  return mayMake;
}

/** Throws `UNSAFE` if files that this process makes in a place would not belong to the user of the place. */
export function refuseOthersStore(disk: Disk, places: StorePlaces): void {
  for (const { folder, first, owner } of placesOf(disk, places)) {
    if (disk.makesFor(owner) || keepsNoOwners(disk, first)) continue;
    const own = userName(effectiveUser());
    throw new ChronicleError(
      "UNSAFE",
      `${folder} belongs to ${userName(owner)}, who could not use what ${own} writes there`,
      { hint: asOwner(owner), data: { folder, uid: owner } },
    );
  }
}

/**
 * True if a file that this process makes in the folder belongs to the folder's user. This is so on a file system on
 * which all files belong to one user. To find out, makes a file and removes it. The disk refuses to make a file that
 * would belong to another user.
 */
function keepsNoOwners(disk: Disk, folder: string): boolean {
  const path = `${folder}/.owner-${process.pid}`;
  try {
    disk.close(disk.open(path, "create"));
    disk.unlink(path);
    return true;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return false;
  }
}

/** The maximum number of files that a check names. Files above this number are only counted. */
const NAMED = 3;

/**
 * Matches the folders whose contents are not checked. Each user has a folder in Node's cache. Staged files, and links
 * to the objects of git repositories, have the modes and owners of the workspace's files.
 */
const NOT_OURS = /^(?:cache\/compile|(?:workspaces|forgotten)\/[^/]+\/(?:staging|git\/[^/]+\/files))$/;

interface Hindered {
  readonly path: string;
  readonly why: string;
  /** True if the path belongs to another user. False if its permissions are the reason. */
  readonly isOthers: boolean;
}

interface Places {
  readonly home: string;
  readonly configFolder: string;
  readonly userHome?: string | undefined;
}

/**
 * Checks that the user of the store can read and write each file of the store and of the configuration folder. Files of
 * another user, left by a command of that user, would make every later command fail. The user of the store is the user
 * of this process or, in a process of root, the result of `userOf`.
 */
export function accessCheck(disk: Disk, { home, configFolder, userHome }: Places): DoctorCheck {
  const name = "access";
  const own = process.geteuid?.() ?? 0;
  const found: Hindered[] = [];
  const mends: string[] = [];
  for (const folder of [home, configFolder]) {
    const stat = disk.lstat(folder);
    if (stat === undefined) continue;
    const user = own === 0 ? userOf(disk, { folder, userHome }) : own;
    const hindered = hinderedIn(disk, folder, user);
    addAll(found, hindered);
    if (hindered.some(({ isOthers }) => isOthers))
      mends.push(`${own === 0 ? "" : "sudo "}chown -R ${user} ${quotePath(folder)}`);
    if (hindered.some(({ isOthers }) => !isOthers)) mends.push(`chmod -R u+rwX ${quotePath(folder)}`);
  }
  if (found.length === 0) return { name, ok: true, detail: "all files of the store can be read and written" };
  const named = found.slice(0, NAMED).map(({ path, why }) => `${path} ${why}`);
  const detail = [...named, ...(found.length > NAMED ? [`${found.length - NAMED} more`] : [])].join("; ");
  return { name, ok: false, detail, hint: mends.join(" && ") };
}

/**
 * Returns the user of a place, for a process that runs as root. For a place in the home folder, returns the owner of
 * the home folder. Otherwise, returns the owner of `workspaces` or `heads` in the place, or of the place itself.
 */
function userOf(
  disk: Disk,
  { folder, userHome }: { readonly folder: string; readonly userHome?: string | undefined },
): number {
  if (userHome !== undefined && folder.startsWith(`${userHome}/`)) return disk.lstat(userHome)?.uid ?? 0;
  // A folder of root may be a mount point that holds another user's store.
  return (disk.lstat(join(folder, "workspaces")) ?? disk.lstat(join(folder, "heads")) ?? disk.lstat(folder))?.uid ?? 0;
}

function hinderedIn(disk: Disk, folder: string, uid: number): Hindered[] {
  const found: Hindered[] = [];
  const folders = [""];
  for (let at = folders.pop(); at !== undefined; at = folders.pop()) {
    const path = join(folder, at);
    const stat = disk.lstat(path);
    const isUsable = at === "" && stat?.uid !== uid && refusedWrite(disk, path) === undefined;
    const why = stat === undefined || isUsable ? undefined : hindrance(stat, uid);
    if (why !== undefined) found.push({ path, why, isOthers: stat?.uid !== uid });
    if (stat?.kind !== "dir" || NOT_OURS.test(at)) continue;
    for (const name of namesIn(disk, path)) folders.push(join(at, name));
  }
  return found;
}

/**
 * Returns the reason, in words for people, why the user cannot read and write a path; `undefined` if the user can do
 * both. The owner and the mode of a link do not matter.
 */
function hindrance({ kind, mode, uid: owner }: FileStat, uid: number): string | undefined {
  if (kind === "symlink") return undefined;
  if (owner !== uid) return `belongs to ${userName(owner)}`;
  const needed = kind === "dir" ? 0o700 : 0o600;
  return (mode & needed) === needed ? undefined : `may not be read and written (${mode.toString(8)})`;
}

/**
 * Returns the names in a folder; none if the folder is gone or unreadable. `hinderedIn` has already reported an
 * unreadable folder.
 */
function namesIn(disk: Disk, path: string): string[] {
  try {
    return disk.list(path).map(({ name }) => name.toString());
  } catch (error) {
    if (errnoOf(error) === "EACCES" || errnoOf(error) === "ENOENT") return [];
    throw error;
  }
}
