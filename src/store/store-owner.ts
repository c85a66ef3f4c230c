import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { asOwner, effectiveUser, userName } from "../disk/kept-owners.ts";

/** The folders of a store and of its key. */
export interface StorePlaces {
  readonly home: string;
  readonly configFolder: string;
}

/** In each place: the folder that was made first there. Whoever owns that has begun it; the place itself may be a mount of root's. */
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

/** The user to whom a folder belongs. One that is not there yet: this user, but root makes it for the user in whose folder it will lie. */
function ownerOf(disk: Disk, folder: string): number {
  const own = effectiveUser();
  for (let at = folder; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const uid = uidOf(disk, at);
    if (uid !== undefined) return uid;
    if (own !== 0) return own;
  }
  return own;
}

/** `undefined`: it is not there, or cannot be looked at. */
function uidOf(disk: Disk, path: string): number | undefined {
  try {
    return disk.lstat(path)?.uid;
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/**
 * Has everything that is made in a store, and beside its key, belong to the user who began them: what belongs to another one, its user
 * can neither read nor replace. Returns whether the store's first folders may be made.
 */
export function keepOwners(disk: Disk, places: StorePlaces): boolean {
  let mayMake = true;
  for (const { folder, owner } of placesOf(disk, places)) {
    disk.keepTo(folder, owner);
    if (folder === places.home) mayMake = disk.makesFor(owner);
  }
  return mayMake;
}

/** Throws `UNSAFE` where what this process would write into a store, or beside its key, would not belong to their user. */
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

/** Does what is made in a folder belong to its user anyway? On some file systems everything belongs to one user. */
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
