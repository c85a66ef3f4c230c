import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { asOwner, effectiveUser, userName } from "../disk/kept-owners.ts";

/** The folders of a store and of its key. */
export interface StorePlaces {
  readonly home: string;
  readonly configFolder: string;
}

/**
 * The folder that was made first in each place. Its owner has begun the place; the place itself may be a mount of
 * root's.
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
 * Returns the owner of a folder. One that is not there yet belongs to this user, but root makes it for the user in
 * whose folder it will lie.
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

/** Returns `undefined` if it is not there, or cannot be read. */
function uidOf(disk: Disk, path: string): number | undefined {
  try {
    return disk.lstat(path)?.uid;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Gives everything that is made in a store, and beside its key, to the user who began them: that user could neither
 * read nor replace another user's files. Returns whether the store's first folders may be made.
 */
export function keepOwners(disk: Disk, places: StorePlaces): boolean {
  let mayMake = true;
  for (const { folder, owner } of placesOf(disk, places)) {
    disk.keepTo(folder, owner);
    if (folder === places.home) mayMake = disk.makesFor(owner);
  }
  return mayMake;
}

/** Throws `UNSAFE` if this process's writes into a store, or beside its key, would not belong to their user. */
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

/** True if a file made in a folder belongs to its user anyway: on some file systems, everything belongs to one user. */
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
