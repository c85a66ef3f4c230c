import { createHash } from "node:crypto";
import { dirname, isAbsolute, join } from "node:path";
import { ChronicleError, errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { makeMissingFolders } from "../disk/make-folders.ts";
import { readFully, writeFully } from "../disk/write-fully.ts";
import { quotePath } from "../core/shell/quote-command.ts";

/**
 * The longest path of a socket, in bytes. This is the size of `sun_path` on macOS without the NUL. On Linux, `sun_path`
 * is four bytes longer (sockaddr_un(7)).
 */
const LONGEST_SOCKET_PATH = 103;

/**
 * The paths by which clients find the long-lived process of a store. The folder also has the notes of sessions, the
 * diagnostics, and the kept replies to idempotent requests.
 */
export interface RunFolder {
  /** `<store>/run`, with mode 0700. */
  readonly folder: string;
  /** The path to which clients connect. It is the socket or a link to the socket. */
  readonly address: string;
  /** The path of the socket itself. */
  readonly socket: string;
}

export interface RunInputs {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The store's folder. */
  readonly home: string;
  readonly uid: number;
}

export function ownUid(): number {
  return process.getuid?.() ?? 0;
}

/**
 * Returns the run folder of a store. The socket is in `$XDG_RUNTIME_DIR/chronicle` if `$XDG_RUNTIME_DIR` belongs to
 * this user, nobody else can write to it, and the path is short enough. Otherwise the socket is in `<store>/run` if
 * that path is short enough, or else in `/tmp/chronicle-<uid>`.
 */
export function runFolder(disk: Disk, inputs: RunInputs): RunFolder {
  return runFolderNamed(disk, inputs, { name: "serve.sock", key: inputs.home });
}

/** Returns the run folder of a sync. `id` is the id of the workspace that follows the origin. */
export function syncRunFolder(disk: Disk, inputs: RunInputs, id: string): RunFolder {
  return runFolderNamed(disk, inputs, { name: `sync-${id}.sock`, key: `${inputs.home}\0${id}` });
}

/** `name` is the file name of `address`. `key` is a text that is unique among this user's addresses. */
function runFolderNamed(
  disk: Disk,
  { env, home, uid }: RunInputs,
  { name, key }: { readonly name: string; readonly key: string },
): RunFolder {
  const folder = join(home, "run");
  const address = join(folder, name);
  const short = `${createHash("sha256").update(key).digest("hex").slice(0, 16)}.sock`;
  const runtime = env["XDG_RUNTIME_DIR"];
  if (runtime !== undefined && isAbsolute(runtime) && isOwn(disk, runtime, uid)) {
    const socket = join(runtime, "chronicle", short);
    if (fits(socket)) return { folder, address, socket };
  }
  return { folder, address, socket: fits(address) ? address : join("/tmp", `chronicle-${uid}`, short) };
}

function fits(path: string): boolean {
  // Nine bytes are left free, although they are not needed. `openSocket` first creates the socket under a temporary
  // name (`.<process id>`), but that name is shorter than the final one.
  return Buffer.byteLength(path) + 9 <= LONGEST_SOCKET_PATH;
}

function isOwn(disk: Disk, folder: string, uid: number): boolean {
  const stat = disk.lstat(folder);
  return stat?.kind === "dir" && stat.uid === uid && (stat.mode & 0o022) === 0;
}

/**
 * Creates the folder if it is missing. Throws `UNSAFE` if the folder belongs to another user or others can enter it,
 * because a socket in such a folder could belong to another user.
 */
export function ownFolder(disk: Disk, folder: string, uid: number): void {
  try {
    disk.makeFolder(folder, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
  const trouble = folderTrouble(disk, folder, uid);
  if (trouble === undefined) return;
  throw new ChronicleError("UNSAFE", `${folder} ${trouble.what}: a socket in this folder could be anybody's`, {
    hint: trouble.hint,
    data: { folder },
  });
}

/**
 * Returns what is wrong with a folder that only this user should be able to enter, and how to correct it. Returns
 * `undefined` if the folder is right or does not exist. For a folder that is meant for everybody (such as `/tmp`), the
 * hint is to choose another folder.
 */
export function folderTrouble(
  disk: Disk,
  folder: string,
  uid: number,
): { readonly what: string; readonly hint: string } | undefined {
  const stat = disk.lstat(folder);
  if (stat === undefined) return undefined;
  const remove = `look at it, then remove it: rm -r ${quotePath(folder)}`;
  const another = `choose a folder of your own, such as ${join(folder, `chronicle-${uid}`)}`;
  if (stat.kind !== "dir") return { what: "is no folder", hint: remove };
  const isShared = (stat.mode & 0o1002) !== 0;
  const asOwner = `run the command as that user: sudo -u '#${stat.uid}' chronicle …`;
  const notOwn = uid === 0 ? asOwner : remove;
  if (stat.uid !== uid) return { what: `belongs to user ${stat.uid}`, hint: isShared ? another : notOwn };
  if ((stat.mode & 0o077) === 0) return undefined;
  return {
    what: `can be entered by others (${stat.mode.toString(8)})`,
    hint: isShared ? another : `chmod 700 ${quotePath(folder)}`,
  };
}

/**
 * Returns false if `address` is a link into a folder that is missing, belongs to another user, or can be entered by
 * others. A socket in such a folder may belong to another user. Otherwise returns true, even if nothing is at
 * `address`.
 */
export function isOwnAddress(disk: Disk, { address }: RunFolder, uid: number): boolean {
  if (disk.lstat(address)?.kind !== "symlink") return true;
  const folder = dirname(disk.readlink(address).toString());
  return disk.lstat(folder) !== undefined && folderTrouble(disk, folder, uid) === undefined;
}

/** True if `address` leads to `socket`. */
export function isOneSocket(disk: Disk, { address, socket }: RunFolder): boolean {
  const [served, asked] = [address, socket].map((path) =>
    disk.lstat(path) === undefined ? undefined : disk.realpath(path),
  );
  return served !== undefined && served === asked;
}

/**
 * Creates the run folder and its parents if they are missing. Throws system errors, and `UNSAFE` if the run folder
 * belongs to another user or others can enter it.
 */
export function makeRunFolder(disk: Disk, run: RunFolder, uid: number): void {
  if (disk.lstat(run.folder) === undefined) makeMissingFolders(disk, dirname(run.folder), 0o700);
  ownFolder(disk, run.folder, uid);
}

/** Returns the text of a small file; `undefined` if the file does not exist. */
export function readSmall(disk: Disk, path: string): string | undefined {
  let fd: number;
  try {
    fd = disk.open(path, "read");
  } catch (error) {
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
  try {
    const bytes = Buffer.alloc(disk.fstat(fd).size);
    return bytes.toString("utf8", 0, readFully(disk, fd, bytes, 0));
  } finally {
    disk.close(fd);
  }
}

/**
 * Replaces a small file. A reader sees either the old or the new content. The file is not synced, because its loss in a
 * power failure is harmless.
 */
export function writeSmall(disk: Disk, path: string, text: string): void {
  const fresh = `${path}.${process.pid}`;
  const fd = disk.open(fresh, "update");
  try {
    disk.truncate(fd, 0);
    writeFully(disk, fd, Buffer.from(text), 0);
  } finally {
    disk.close(fd);
  }
  disk.rename(fresh, path);
}

/** Removes a file if it exists. */
export function removeSmall(disk: Disk, path: string): void {
  try {
    disk.unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
  }
}
