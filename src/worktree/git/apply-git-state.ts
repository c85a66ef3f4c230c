import {
  type GitChange,
  type GitItem,
  gitMovedSince,
  isGitRef,
  parseIndexValue,
  REF,
  sameGitValue,
  SOFT_GIT_FILES,
} from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { ApplyGit } from "../git-states.ts";
import {
  type GitFolderPair,
  gitPath,
  type GitStateReader,
  linkOnTheWay,
  STASH_LOG,
  STATE_FOLDERS,
} from "./read-git-state.ts";
import { type RunGit, safeGit } from "./run-git.ts";

/** The parts of a repository that a change needs. */
export interface GitTarget {
  readonly disk: Disk;
  readonly folders: GitFolderPair;
  readonly reader: GitStateReader;
  readonly run: RunGit;
  /** The id of the change, for the names of temporary files. */
  readonly mark: string;
  /** The present time, in ms since the epoch, for the reflog. */
  readonly now: number;
}

/** The name for the reflog of HEAD, the only reflog that is written here. Git itself writes the others. */
const HEAD_LOG = "logs/HEAD";
const ZEROS = "0".repeat(40);
const MODE = 0o644;

/**
 * Changes a repository under git's own locks: see `GitStates.apply`.
 *
 * 1. The objects are put into the repository. Objects that nothing reaches do no harm.
 * 2. `index.lock` is taken. From here on, no other git changes the index, and most commands of git fail.
 * 3. Every value is compared.
 * 4. The files of unfinished operations, then HEAD (under `HEAD.lock`), then the refs (one transaction of git, which
 *    locks each ref and compares its old value once more).
 * 5. The index is put into place, which releases its lock.
 *
 * If git refuses the refs, HEAD and the files are put back.
 */
export async function applyGitState(target: GitTarget, change: GitChange, how: ApplyGit): Promise<string | undefined> {
  const { folders } = target;
  const link = linkInTheWay(folders, change);
  if (link !== undefined) return `${link} is a link, and nothing is written through it`;
  try {
    for (const pack of change.packs) {
      const bytes = await how.contentOf(pack);
      if (bytes === undefined) return "the objects that were kept for it were freed";
      const { problem } = await target.run(safeGit(folders.own.root, ["unpack-objects", "-q"], bytes));
      if (problem !== undefined) return `its objects could not be put back (${problem})`;
    }
    using lock = takeLock(folders.own, "index.lock");
    if (lock === undefined) return "index.lock exists: git is at work, or a git that was killed has left it";
    return await applyLocked(target, change, { ...how, lock });
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === undefined) throw error;
    return `it cannot be written (${errno})`;
  } finally {
    folders.own.release();
    folders.common.release();
  }
}

/** Returns a link through which git would write; `undefined` if there is none. */
function linkInTheWay({ own, common }: GitFolderPair, { items }: GitChange): string | undefined {
  const refs = items.filter(isInRefs).flatMap(({ name }) => [name, `logs/${name}`]);
  const names = ["objects", "packed-refs", HEAD_LOG, STASH_LOG, ...refs, ...items.map(({ name }) => name)];
  for (const fs of new Set([own, common])) {
    const found = names.map((name) => linkOnTheWay(fs, name)).find((one) => one !== undefined);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Locked extends ApplyGit {
  readonly lock: GitLock;
}

async function applyLocked(target: GitTarget, change: GitChange, how: Locked): Promise<string | undefined> {
  const todo: GitItem[] = [];
  for (const item of change.items) {
    const now = await target.reader.valueOf(item.name);
    if (sameGitValue(item.name, now, item.after)) continue;
    if (!sameGitValue(item.name, now, item.before)) {
      if (SOFT_GIT_FILES.has(item.name)) continue;
      return gitMovedSince(item.name, item.before, now);
    }
    todo.push(item);
  }
  const contents = await contentsOf(todo, how);
  if (typeof contents === "string") return contents;
  const [head, refs, index] = [todo.filter(isHead), todo.filter(isInRefs), todo.find(({ name }) => name === "index")];
  const files = todo.filter(({ name }) => !isGitRef(name) && name !== "index");
  const back: (() => void)[] = [];
  const problem =
    setHead(target, head[0], { change, message: how.message }, back) ?? (await setRefs(target, refs, how));
  if (problem !== undefined) {
    for (const undo of back.toReversed()) undo();
    return problem;
  }
  for (const { name, after } of files) putFile(target, name, after === undefined ? undefined : contents.get(name));
  dropEmptyFolders(target.folders.own, files);
  if (index !== undefined) putIndex(target, index, contents.get("index"), how.lock);
  return undefined;
}

const isHead = ({ name }: GitItem): boolean => name === "HEAD";
const isInRefs = ({ name }: GitItem): boolean => name.startsWith("refs/");

/** Returns the contents of the files, by name; or the reason why one is missing. */
async function contentsOf(items: readonly GitItem[], how: ApplyGit): Promise<ReadonlyMap<string, Buffer> | string> {
  const found = new Map<string, Buffer>();
  for (const { name, after } of items) {
    if (isGitRef(name) || after === undefined) continue;
    const content = await how.contentOf(name === "index" ? parseIndexValue(after).blob : (after as Hash));
    if (content === undefined) return `the content of ${name} was freed`;
    found.set(name, content);
  }
  return found;
}

/** A lock file of git. Its disposal removes it, unless it was put into place. */
interface GitLock extends Disposable {
  readonly name: string;
  /** Writes the content into the lock file, and renames it to the name without `.lock`. */
  put(disk: Disk, content: Buffer, mtimeNs?: bigint): void;
  /** True once the file is in place. */
  readonly isPut: () => boolean;
}

/** Takes a lock as git does: by creating the file. Returns `undefined` if it exists. */
function takeLock(fs: ConfinedFs, name: string): GitLock | undefined {
  let isPut = false;
  try {
    fs.create(gitPath(name), MODE)[Symbol.dispose]();
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return undefined;
    throw error;
  }
  return {
    name,
    isPut: () => isPut,
    put: (disk, content, mtimeNs) => {
      // Only this process may use the lock file. It is replaced by a file with the content, which stays the lock.
      const staged = gitPath(`${name}.chronicle`);
      dropFile(fs, staged);
      const place = gitPath(name.replace(/\.lock$/, ""));
      writeStaged(disk, fs, staged, { content, mtimeNs, mode: fs.lstat(place)?.mode });
      fs.renameFile(staged, gitPath(name));
      fs.renameFile(gitPath(name), place);
      isPut = true;
      fs.syncFolder(gitPath(""));
    },
    [Symbol.dispose]: () => {
      if (!isPut) dropFile(fs, gitPath(name));
    },
  };
}

function writeStaged(
  disk: Disk,
  fs: ConfinedFs,
  path: ReturnType<typeof gitPath>,
  how: { readonly content: Buffer; readonly mtimeNs?: bigint | undefined; readonly mode?: number | undefined },
): void {
  const { content, mtimeNs, mode = MODE } = how;
  using file = fs.create(path, mode);
  fs.write(file, content);
  if (mtimeNs !== undefined) disk.setMtime(file.fd, mtimeNs);
  fs.sync(file);
}

function dropFile(fs: ConfinedFs, path: ReturnType<typeof gitPath>): void {
  try {
    fs.unlink(path);
  } catch (error) {
    if (errnoOf(error) !== "ENOENT" && errnoOf(error) !== "ENOTDIR") throw error;
  }
}

/** Sets HEAD, and appends to its reflog as git does. Returns the reason if it could not be set. */
function setHead(
  target: GitTarget,
  item: GitItem | undefined,
  { change, message }: { readonly change: GitChange; readonly message: string },
  back: (() => void)[],
): string | undefined {
  if (item?.after === undefined) return undefined;
  const { own } = target.folders;
  const write = (value: string): string | undefined => {
    using lock = takeLock(own, "HEAD.lock");
    if (lock === undefined) return "HEAD.lock exists: git is at work";
    lock.put(target.disk, Buffer.from(`${value}\n`));
    return undefined;
  };
  const problem = write(item.after);
  if (problem !== undefined) return problem;
  const { before } = item;
  if (before !== undefined) back.push(() => void write(before));
  logHead(target, change, message);
  return undefined;
}

/** Appends a line to the reflog of HEAD, if it has one. */
function logHead({ disk, folders: { own }, now }: GitTarget, { before, after }: GitChange, message: string): void {
  if (own.lstat(gitPath(HEAD_LOG))?.kind !== "file") return;
  const [was, is] = [before.commit, after.commit].map((commit) => commit ?? ZEROS);
  const line = `${was} ${is} Chronicle <chronicle@localhost> ${Math.floor(now / 1_000)} +0000\t${message}\n`;
  const fd = disk.open(own.at(gitPath(HEAD_LOG)), "append");
  try {
    writeFully(disk, fd, Buffer.from(line), null);
  } finally {
    disk.close(fd);
  }
}

/** Sets the refs in one transaction of git. Returns the reason if git refuses it. */
async function setRefs(
  target: GitTarget,
  items: readonly GitItem[],
  { message }: ApplyGit,
): Promise<string | undefined> {
  if (items.length === 0) return undefined;
  const isSymbolic = ({ before, after }: GitItem): boolean => [before, after].some((one) => one?.startsWith(REF));
  const symbolic = items.find(isSymbolic);
  if (symbolic !== undefined) return `${symbolic.name} is a symbolic ref, which is not put back`;
  const lines = items.map(({ name, before, after }) => {
    if (after === undefined) return `delete ${name}\0${before ?? ""}\0`;
    return before === undefined ? `create ${name}\0${after}\0` : `update ${name}\0${after}\0${before}\0`;
  });
  const args = ["update-ref", "--no-deref", "-m", message, "--stdin", "-z"];
  const { own } = target.folders;
  const { problem } = await target.run(safeGit(own.root, args, Buffer.from(lines.join(""))));
  return problem === undefined ? undefined : `git did not change the refs (${problem})`;
}

/** Writes or removes a file of an unfinished operation. */
function putFile({ disk, folders, mark }: GitTarget, name: string, content: Buffer | undefined): void {
  const fs = name === STASH_LOG ? folders.common : folders.own;
  if (content === undefined) return dropFile(fs, gitPath(name));
  const parts = name.split("/");
  for (let i = 1; i < parts.length; i += 1) makeFolder(fs, parts.slice(0, i).join("/"));
  const staged = gitPath(`${name}.${mark}.new`);
  dropFile(fs, staged);
  writeStaged(disk, fs, staged, { content });
  fs.renameFile(staged, gitPath(name));
}

function makeFolder(fs: ConfinedFs, name: string): void {
  try {
    fs.makeFolder(gitPath(name), 0o755);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/** Removes the folders of an operation that is no longer unfinished. Git would regard an empty one as unfinished. */
function dropEmptyFolders(fs: ConfinedFs, files: readonly GitItem[]): void {
  const folders = new Set<string>();
  for (const { name, after } of files) {
    if (after !== undefined || !STATE_FOLDERS.some((top) => name.startsWith(`${top}/`))) continue;
    for (let at = name.lastIndexOf("/"); at > 0; at = name.lastIndexOf("/", at - 1)) folders.add(name.slice(0, at));
  }
  for (const folder of [...folders].sort((a, b) => b.length - a.length)) {
    try {
      fs.removeFolder(gitPath(folder));
    } catch (error) {
      if (!["ENOTEMPTY", "EEXIST", "ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) throw error;
    }
  }
}

function putIndex({ disk, folders }: GitTarget, { after }: GitItem, content: Buffer | undefined, lock: GitLock): void {
  if (after === undefined || content === undefined) return dropFile(folders.own, gitPath("index"));
  lock.put(disk, content, parseIndexValue(after).mtimeNs);
}
