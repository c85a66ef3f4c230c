import * as fs from "node:fs";
import type { DiskPath } from "./disk.ts";

/**
 * Thrown if nothing was made, because it would have belonged to another user than its folder. A system error, with a
 * hint of its own.
 */
class OthersFolder extends Error {
  readonly code = "EACCES";
  readonly hint: string;

  constructor(folder: string, owner: number) {
    super(`${folder} belongs to ${userName(owner)}, who could not use what ${userName(effectiveUser())} makes there`);
    this.hint = asOwner(owner);
  }
}

/** The folders in which everything must belong to one user. */
export class KeptOwners {
  readonly #owners = new Map<string, number>();

  keep(folder: string, uid: number): void {
    this.#owners.set(folder, uid);
  }

  /** Returns the user to whom a new file at a path must belong, if that is not the user of this process. */
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

/** A folder, and the user who owns everything in it. */
export interface KeptOwner {
  readonly folder: string;
  readonly uid: number;
}

/**
 * Calls `remove` and throws if an open file that was just made does not belong to the owner. The file itself is
 * checked, because on a file system that stores no owners everything belongs to one user.
 */
export function mustBelongTo({ folder, uid }: KeptOwner, fd: number, remove: () => void): void {
  if (fs.fstatSync(fd).uid === uid) return;
  remove();
  throw new OthersFolder(folder, uid);
}

/** The hint for a folder that belongs to another user. */
export function asOwner(uid: number): string {
  return (
    `run the command as that user (\`sudo -u '#${uid}' chronicle …\`), or choose a store of your own with --store or $CHRONICLE_HOME; ` +
    "`chronicle doctor` says what belongs to whom"
  );
}

/** Formats a user for a sentence. */
export function userName(uid: number): string {
  return uid === 0 ? "root" : `user ${uid}`;
}

/** Returns the user who owns the files that this process makes. */
export function effectiveUser(): number {
  return process.geteuid?.() ?? 0;
}
