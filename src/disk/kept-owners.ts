import type { DiskPath, Owner } from "./disk.ts";
import { errnoOf } from "../core/values/errors.ts";
import * as fs from "node:fs";

/**
 * The error for a file or folder that was not made, because its owner would not be the owner of the folder around it.
 * It has the code of a system error, and a hint of its own.
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

  /**
   * Returns the user to whom a new file at a path must belong, with the folder that is bound to this user. Returns
   * `undefined` if the path is in no bound folder, if this process runs as that user, or if the path is given as bytes.
   */
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
 * Throws if a file that was just made does not belong to the required user. Calls `remove` first. Checks the owner of
 * the open file (`fd`), not the user of this process. On a file system that stores no owners, the file may belong to
 * the required user although another user made it.
 */
export function mustBelongTo({ folder, uid }: KeptOwner, fd: number, remove: () => void): void {
  if (fs.fstatSync(fd).uid === uid) return;
  remove();
  throw new OthersFolder(folder, uid);
}

export function asOwner(uid: number): string {
  return (
    `run the command as that user (\`sudo -u '#${uid}' chronicle …\`), or choose a store of your own with --store or $CHRONICLE_HOME; ` +
    "`chronicle doctor` says what belongs to whom"
  );
}

export function userName(uid: number): string {
  return uid === 0 ? "root" : `user ${uid}`;
}

/** Returns the user who owns the files that this process makes. */
export function effectiveUser(): number {
  return process.geteuid?.() ?? 0;
}

/**
 * The errors of chown(2) in two cases: the file system stores no owners, or the root user of a container gives a file
 * to a user whom the container does not know.
 */
const KEEPS_NO_OWNERS: ReadonlySet<string> = new Set(["EPERM", "EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

let hasDescriptorPaths: boolean | undefined;

/**
 * Makes a file or folder with `make`. If this process is root and the folder around the path belongs to another user,
 * `make` also gets that user, and must make that user the owner of the result. Otherwise, a command that was run as
 * root once (`sudo -E`, `su -m`) would leave files in a user's store that this user can neither read nor replace.
 *
 * With an owner, `make` gets a path through the descriptor of the folder. Thus the file is made in exactly the folder
 * whose owner was read. With the plain path, the owner could replace the folder by a link to one of root's own folders
 * between two lookups. Without descriptor paths (not on Linux), nothing is given away.
 *
 * A path below `/proc/self/fd` is passed on unchanged, because it leads to the files of a workspace, which have owners
 * of their own.
 */
export function makeForFolderOwner<T>(path: DiskPath, make: (path: DiskPath, owner?: Owner) => T): T {
  if (effectiveUser() !== 0 || typeof path !== "string" || path.startsWith("/proc/")) return make(path);
  const at = path.lastIndexOf("/");
  const folder = path.slice(0, at) || "/";
  const isOthers = (fs.statSync(folder, { throwIfNoEntry: false })?.uid ?? 0) !== 0;
  if (!isOthers || !canAnchor()) return make(path);
  const fd = fs.openSync(folder, fs.constants.O_RDONLY | fs.constants.O_DIRECTORY);
  const inner = `/proc/self/fd/${fd}/${path.slice(at + 1)}`;
  try {
    const { uid, gid } = fs.fstatSync(fd);
    return make(inner, { uid, gid });
  } catch (error) {
    throw withPath(error, inner, path);
  } finally {
    fs.closeSync(fd);
  }
}

/** See `Disk.makesFor`. */
export function makesFor(uid: number): boolean {
  return effectiveUser() === uid || (effectiveUser() === 0 && canAnchor());
}

/** Gives an open file that this process has just made to its owner, unless the file system stores no owners. */
export function giveTo(fd: number, owner: Owner): void {
  try {
    fs.fchownSync(fd, owner.uid, owner.gid);
  } catch (error) {
    if (!KEEPS_NO_OWNERS.has(errnoOf(error) ?? "")) throw error;
  }
}

/**
 * Gives an open folder that this process has just made to its owner, as `giveTo` does for a file. Does nothing if the
 * folder is not empty: the name may meanwhile lead to another folder of root's, which must not be given away.
 */
export function giveFolderTo(fd: number, owner: Owner): void {
  if (fs.readdirSync(`/proc/self/fd/${fd}`).length === 0) giveTo(fd, owner);
}

/**
 * Does the same as `giveTo`, if that is permitted. Root may give anything away. Other users may only give their own
 * files to one of their groups. Returns false if the user or the group could not be set, and for a folder that is not
 * empty.
 */
export function giveAsPermitted(fd: number, owner: Owner): boolean {
  const stat = fs.fstatSync(fd);
  if (stat.uid === owner.uid && stat.gid === owner.gid) return true;
  if (stat.isDirectory() && fs.readdirSync(`/proc/self/fd/${fd}`).length > 0) return false;
  if (stat.uid !== owner.uid && isGiven(fd, owner)) return true;
  // The user could not be changed, so try to change only the group.
  return (isGiven(fd, { uid: stat.uid, gid: owner.gid }) || stat.gid === owner.gid) && stat.uid === owner.uid;
}

function isGiven(fd: number, { uid, gid }: Owner): boolean {
  try {
    fs.fchownSync(fd, uid, gid);
    return true;
  } catch (error) {
    if (!KEEPS_NO_OWNERS.has(errnoOf(error) ?? "")) throw error;
    return false;
  }
}

function canAnchor(): boolean {
  hasDescriptorPaths ??= process.platform === "linux" && fs.existsSync("/proc/self/fd");
  return hasDescriptorPaths;
}

function withPath(error: unknown, inner: string, path: string): unknown {
  if (error instanceof Error) error.message = error.message.replaceAll(inner, path);
  return error;
}
