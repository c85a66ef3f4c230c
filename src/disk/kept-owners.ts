import * as fs from "node:fs";
import type { DiskPath } from "./disk.ts";

/** Nothing was made: it would have belonged to another user than the folder that it was to lie in. A system error, with a hint of its own. */
class OthersFolder extends Error {
  readonly code = "EACCES";
  readonly hint: string;

  constructor(folder: string, owner: number) {
    super(`${folder} belongs to ${userName(owner)}, who could not use what ${userName(effectiveUser())} makes there`);
    this.hint = asOwner(owner);
  }
}

/** The folders in which everything has to belong to one user. */
export class KeptOwners {
  readonly #owners = new Map<string, number>();

  keep(folder: string, uid: number): void {
    this.#owners.set(folder, uid);
  }

  /** The user to whom what is made at a path must belong, if that is not the user of this process. */
  otherOwnerOf(path: DiskPath): KeptOwner | undefined {
    if (typeof path !== "string") return undefined;
    for (const [folder, uid] of this.#owners) {
      if (path.startsWith(folder) && (path.length === folder.length || path[folder.length] === "/")) {
        return uid === effectiveUser() ? undefined : { folder, uid };
      }
    }
    return undefined;
  }
}

/** A folder, and the user to whom everything in it belongs. */
export interface KeptOwner {
  readonly folder: string;
  readonly uid: number;
}

/**
 * Throws, after `remove`, where what was just made and is held open is not the owner's. It is asked of the file itself: on a file system
 * that keeps no owners everything belongs to one user.
 */
export function mustBelongTo({ folder, uid }: KeptOwner, fd: number, remove: () => void): void {
  if (fs.fstatSync(fd).uid === uid) return;
  remove();
  throw new OthersFolder(folder, uid);
}

/** What to do where a folder belongs to another user. */
export function asOwner(uid: number): string {
  return (
    `run the command as that user (\`sudo -u '#${uid}' chronicle …\`), or choose a store of your own with --store or $CHRONICLE_HOME; ` +
    "`chronicle doctor` says what belongs to whom"
  );
}

/** A user, in a sentence. */
export function userName(uid: number): string {
  return uid === 0 ? "root" : `user ${uid}`;
}

/** The user as whom this process makes files. */
export function effectiveUser(): number {
  return process.geteuid?.() ?? 0;
}
