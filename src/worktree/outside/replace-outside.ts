import { sameEntry, type Entry } from "../../core/values/entry.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { childOf, decodeName, parentOf, pathToBytes, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { Disk, FileStat, Owner } from "../../disk/disk.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { inspectPath } from "../files/inspect.ts";
import type { OutsideChange } from "../outside-files.ts";
import { isSameContent } from "../files/same-stat.ts";

/** The bits setuid, setgid and sticky, which are recorded but never set. */
const NEVER_SET = 0o7000;

/**
 * Replaces an entry: see `OutsideFiles.replace`. Stages the new entry beside the path, syncs it, and puts it into
 * place.
 */
export async function replacePath(disk: Disk, fs: ConfinedFs, change: OutsideChange): Promise<string | undefined> {
  const { path, before, after } = change;
  const behind = linkOnTheWay(fs, path);
  if (behind !== undefined) return `/${behind} on the way to it is a link`;
  if (before !== undefined && sameEntry(before, after)) return dropLeft(fs, path, keptOf(change));
  const made: WorkspacePath[] = [];
  let isDone = false;
  try {
    if (after !== undefined) makeParents(fs, parentOf(path), made);
    const refused = await replaceIn(disk, fs, change);
    isDone = refused === undefined;
    return refused;
  } finally {
    if (!isDone) dropMade(fs, made);
  }
}

/** Makes, replaces or removes an entry. Requires that the folder of a new entry exists. */
async function replaceIn(disk: Disk, fs: ConfinedFs, change: OutsideChange): Promise<string | undefined> {
  const { path, after } = change;
  const isKept = keptOf(change);
  if (after?.kind === "dir") {
    await dropLeft(fs, path, isKept);
    return placeFolder(fs, change);
  }
  const staged = childOf(parentOf(path), `${stagingName(path)}.new`);
  try {
    const unstaged = after === undefined ? undefined : await stage(disk, fs, staged, { ...change, after });
    if (unstaged !== undefined) return unstaged;
    await dropLeft(fs, path, isKept);
    return putStaged(disk, fs, { change, staged });
  } finally {
    if (after !== undefined) dropStaged(fs, staged);
  }
}

function keptOf({ before, after, isKept }: OutsideChange): (hash: Hash) => Promise<boolean> {
  const known = [before?.hash, after?.hash];
  return async (hash) => known.includes(hash) || (await isKept?.(hash)) === true;
}

interface Staged {
  readonly change: OutsideChange;
  readonly staged: WorkspacePath;
}

/** Checks once more that the entry at the path equals `before`, and replaces it. */
function putStaged(disk: Disk, fs: ConfinedFs, { change, staged }: Staged): string | undefined {
  const { path, before, after } = change;
  const folder = parentOf(path);
  const seen = inspectPath(fs, path, path);
  if (!sameEntry(seen?.entry, before)) {
    return sameEntry(seen?.entry, after) ? undefined : "it is not what it was a moment ago";
  }
  if (seen?.stat.kind !== "dir") return exchange(fs, { path, folder, staged, seen: seen?.stat, after });
  fs.removeFolder(path);
  if (after === undefined) {
    fs.syncFolder(folder);
    return undefined;
  }
  try {
    return exchange(fs, { path, folder, staged, seen: undefined, after });
  } catch (error) {
    if (fs.lstat(path) === undefined) remakeFolder(disk, fs, path, seen.stat);
    throw error;
  }
}

/** Makes a removed empty folder again, with its old mode and, if permitted, its old owner. */
function remakeFolder(disk: Disk, fs: ConfinedFs, path: WorkspacePath, { mode, uid, gid }: FileStat): void {
  fs.makeFolder(path, mode);
  {
    using folder = fs.openFolder(path);
    const made = disk.fstat(folder.fd);
    if (gid !== undefined && (made.uid !== uid || made.gid !== gid)) disk.give(folder.fd, { uid, gid });
  }
  fs.chmod(path, mode, "dir");
  fs.syncFolder(parentOf(path));
}

interface Exchange {
  readonly path: WorkspacePath;
  readonly folder: WorkspacePath;
  readonly staged: WorkspacePath;
  readonly seen: FileStat | undefined;
  readonly after: Entry | undefined;
}

/** The errnos of `link` on a file system without hard links, or for a file that has too many links. */
const NO_LINKS: ReadonlySet<string> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Gives a file a second name. On a file system without hard links, renames it instead. */
function nameAlso(fs: ConfinedFs, from: WorkspacePath, to: WorkspacePath): void {
  try {
    fs.link(from, to);
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? "")) throw error;
    if (fs.lstat(to) !== undefined) throw Object.assign(new Error("the name is taken"), { code: "EEXIST" });
    fs.renameFile(from, to);
  }
}

/**
 * Carries out the last step. Sets the old entry aside, and puts the staged entry into its place. Then removes the old
 * entry, unless somebody has written to the old entry.
 */
function exchange(fs: ConfinedFs, { path, folder, staged, seen, after }: Exchange): string | undefined {
  if (seen === undefined) {
    // If a file has appeared at the path meanwhile, the link fails, and that file stays.
    if (after === undefined) return undefined;
    nameAlso(fs, staged, path);
    dropOwn(fs, staged);
    fs.syncFolder(folder);
    return undefined;
  }
  const aside = asideName(fs, path);
  if (after === undefined) fs.renameFile(path, aside);
  else {
    nameAlso(fs, path, aside);
    placeOver(fs, { staged, path, aside });
  }
  fs.syncFolder(folder);
  return dropAside(fs, aside, seen);
}

/**
 * Removes an entry that was set aside. If somebody has written to the entry since its stat `seen` was read, keeps the
 * entry, and returns a sentence about that.
 */
function dropAside(fs: ConfinedFs, aside: WorkspacePath, seen: FileStat): string | undefined {
  const gone = fs.lstat(aside);
  if (gone === undefined || !isSameContent(gone, seen)) {
    return `somebody wrote to it at the last moment: what they wrote is kept as /${aside}`;
  }
  fs.unlink(aside);
  fs.syncFolder(parentOf(aside));
  return undefined;
}

interface Placing {
  readonly staged: WorkspacePath;
  readonly path: WorkspacePath;
  readonly aside: WorkspacePath;
}

/**
 * Puts the staged entry at the path. Replaces the old file if that file is still at the path. Otherwise, nothing may be
 * at the path. If the placing fails, gives the old file its path back. If somebody has put another entry at the path,
 * that entry stays, and the old file stays aside.
 */
function placeOver(fs: ConfinedFs, { staged, path, aside }: Placing): void {
  try {
    if (!isOneFile(fs.lstat(path), fs.lstat(aside))) {
      nameAlso(fs, staged, path);
      dropOwn(fs, staged);
    } else fs.renameFile(staged, path);
  } catch (error) {
    const there = fs.lstat(path);
    if (there === undefined) fs.renameFile(aside, path);
    else if (isOneFile(there, fs.lstat(aside))) fs.unlink(aside);
    throw error;
  }
}

function isOneFile(a: FileStat | undefined, b: FileStat | undefined): boolean {
  return a !== undefined && a.ino === b?.ino && a.dev === b.dev;
}

/**
 * Makes a folder and the missing folders above it. Adds the folders that it makes to `made`, the topmost folder first.
 */
function makeParents(fs: ConfinedFs, folder: WorkspacePath, made: WorkspacePath[]): void {
  if (folder === ROOT || fs.lstat(folder)?.kind === "dir") return;
  makeParents(fs, parentOf(folder), made);
  fs.makeFolder(folder, 0o755);
  made.push(folder);
  fs.syncFolder(parentOf(folder));
}

/**
 * Removes the folders that were made for an entry, because the entry could not be put there. A folder that now holds
 * something else stays. Ignores any other failure, because the caller reports why the entry could not be put there.
 */
function dropMade(fs: ConfinedFs, made: readonly WorkspacePath[]): void {
  try {
    for (const folder of made.toReversed()) {
      fs.removeFolder(folder);
      fs.syncFolder(parentOf(folder));
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/**
 * Makes a folder at the path. A file at the path is set aside beforehand, and removed afterwards if nobody has written
 * to it. If a folder is already at the path, only its mode is set.
 */
function placeFolder(fs: ConfinedFs, { path, before, after }: OutsideChange): string | undefined {
  const seen = inspectPath(fs, path, path);
  const mode = (after?.mode ?? 0o755) & ~NEVER_SET;
  if (seen?.entry.kind === "dir") {
    if (seen.entry.mode !== mode) fs.chmod(path, mode, "dir");
    return undefined;
  }
  if (!sameEntry(seen?.entry, before)) return "it is not what it was a moment ago";
  const aside = seen === undefined ? undefined : asideName(fs, path);
  if (aside !== undefined) fs.renameFile(path, aside);
  try {
    fs.makeFolder(path, mode);
  } catch (error) {
    if (aside !== undefined && fs.lstat(path) === undefined) fs.renameFile(aside, path);
    throw error;
  }
  fs.chmod(path, mode, "dir");
  fs.syncFolder(parentOf(path));
  return aside === undefined || seen === undefined ? undefined : dropAside(fs, aside, seen.stat);
}

/**
 * Makes the new entry under its staging name. After that, a file is durable; a link is durable only once its folder is
 * synced. Returns the reason if the entry cannot be staged.
 */
async function stage(
  disk: Disk,
  fs: ConfinedFs,
  staged: WorkspacePath,
  { path, after, content, onLostOwner }: OutsideChange & { readonly after: Entry },
): Promise<string | undefined> {
  if (content === undefined) return "its content is not in the store";
  dropOwn(fs, staged);
  if (after.kind === "symlink") {
    const parts: Uint8Array[] = [];
    for await (const piece of content.pieces()) parts.push(piece);
    fs.symlink(Buffer.concat(parts), staged);
    return undefined;
  }
  {
    using file = fs.create(staged, 0o600);
    fs.release();
    for await (const piece of content.pieces()) fs.write(file, piece);
    const replaced = fs.lstat(path);
    const owner = ownerOf(fs, { path, replaced, made: disk.fstat(file.fd) });
    const isGiven = owner === undefined || disk.give(file.fd, owner);
    if (!isGiven && replaced?.kind === "file") onLostOwner?.(owner);
    fs.sync(file);
  }
  fs.chmod(staged, after.mode & ~NEVER_SET, "file");
  return undefined;
}

interface Made {
  readonly path: WorkspacePath;
  readonly replaced: FileStat | undefined;
  readonly made: FileStat;
}

/**
 * Returns the owner that a new file must get; `undefined` if the file already has the right owner. A file that replaces
 * a file gets the owner of that file. Any other file that root makes gets the owner of its folder.
 */
function ownerOf(fs: ConfinedFs, { path, replaced, made }: Made): Owner | undefined {
  const folder = made.uid === 0 ? fs.lstat(parentOf(path)) : undefined;
  const model = replaced?.kind === "file" ? replaced : folder?.uid === 0 ? undefined : folder;
  if (model?.gid === undefined || (model.uid === made.uid && model.gid === made.gid)) return undefined;
  return { uid: model.uid, gid: model.gid };
}

/** Removes the staged entry. Ignores a failure, because the next attempt removes the entry. */
function dropStaged(fs: ConfinedFs, staged: WorkspacePath): void {
  try {
    dropOwn(fs, staged);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

/** Removes a file or link under a staging name, for example after an interrupted attempt. */
function dropOwn(fs: ConfinedFs, path: WorkspacePath): void {
  const stat = fs.lstat(path);
  if (stat?.kind === "file" || stat?.kind === "symlink") fs.unlink(path);
}

/**
 * Returns a name that is derived from the path, so that the next attempt finds the entries of an interrupted attempt.
 */
function stagingName(path: WorkspacePath): string {
  return `.chronicle-${sha256(pathToBytes(path)).slice(0, 16)}`;
}

/** Removes the old entries that interrupted attempts have left aside, if their contents are stored (`isKept`). */
async function dropLeft(
  fs: ConfinedFs,
  path: WorkspacePath,
  isKept: (hash: Hash) => Promise<boolean>,
): Promise<undefined> {
  for (const left of leftAside(fs, path)) {
    const hash = inspectPath(fs, left, left)?.entry.hash;
    fs.release();
    if (hash === undefined || !(await isKept(hash))) continue;
    fs.unlink(left);
    fs.syncFolder(parentOf(path));
  }
}

/**
 * Returns the paths of the entries that earlier attempts have left aside. If the folder cannot be listed, returns the
 * path that the first attempt would use.
 */
function leftAside(fs: ConfinedFs, path: WorkspacePath): WorkspacePath[] {
  const [folder, first] = [parentOf(path), `${stagingName(path)}.old`];
  try {
    const names = fs.list(folder).map(({ name }) => decodeName(name));
    return names.filter((name) => name === first || name.startsWith(`${first}.`)).map((name) => childOf(folder, name));
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return [childOf(folder, first)];
  }
}

/** Returns a free path for setting an entry aside, so that no entry that was set aside earlier is overwritten. */
function asideName(fs: ConfinedFs, path: WorkspacePath): WorkspacePath {
  const name = childOf(parentOf(path), `${stagingName(path)}.old`);
  for (let n = 1; ; n += 1) {
    const free = (n === 1 ? name : `${name}.${n}`) as WorkspacePath;
    if (fs.lstat(free) === undefined) return free;
  }
}

/** Returns the topmost path above `path` that is a symbolic link; `undefined` if there is none. */
export function linkOnTheWay(fs: ConfinedFs, path: WorkspacePath): WorkspacePath | undefined {
  const folder = parentOf(path);
  if (folder === ROOT || fs.lstat(folder)?.kind === "dir") return undefined;
  const parts = folder.split("/");
  for (let depth = 1; depth <= parts.length; depth += 1) {
    const at = parts.slice(0, depth).join("/") as WorkspacePath;
    const stat = fs.lstat(at);
    if (stat?.kind === "symlink") return at;
    if (stat?.kind !== "dir") return undefined;
  }
  return undefined;
}
