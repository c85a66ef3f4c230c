import {
  encodeGitChanges,
  GIT_FILE,
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
import { type Hash, sha256 } from "../../core/values/hash.ts";
import type { Disk } from "../../disk/disk.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { ApplyGit } from "../git-states.ts";
import { type GitFolderPair, gitPath, UnreadableGit } from "./git-folder-pair.ts";
import { dropFile, writeNewFile } from "./new-file.ts";
import { type GitStateReader, STATE_FOLDERS } from "./read-git-state.ts";
import {
  checkedConfig,
  HEAD_LOG,
  isInRefs,
  linkInTheWay,
  lockText,
  missingObjects,
  usedElsewhere,
} from "./refuse-git-change.ts";
import { type RunGit, safeGit } from "./run-git.ts";
import { isRootRef, STASH_LOG } from "./table-refs.ts";
import { isStartOf, setTabledHead, setTabledStashes, type TabledStashes } from "./apply-tabled-refs.ts";
import { isDeepStrictEqual } from "node:util";

/** The parts of a repository that a change needs. */
export interface GitTarget {
  readonly disk: Disk;
  readonly folders: GitFolderPair;
  readonly reader: GitStateReader;
  readonly run: RunGit;
  /**
   * Returns true if the path still leads to the git folder that was found. Checked before writes, so that nothing is
   * written elsewhere.
   */
  readonly isStill: () => boolean;
  /** The id of the change. The locks and the names of temporary files contain this id. */
  readonly mark: string;
  /** The present time, in ms since the epoch, for the reflog. */
  readonly now: number;
}

/** The reason to refuse a change whose git folder was found, but is no longer in its place. */
export const MOVED = "its git folder was moved or replaced meanwhile";

const ZEROS = "0".repeat(40);
const MODE = 0o644;

/**
 * Changes a repository under git's own locks: see `GitStates.apply`.
 *
 * 1. The change is refused if it is impossible or harmful (see refuse-git-change.ts).
 * 2. The objects are put into the repository. They can stay there if a later step fails, because unreachable objects do
 *    no harm.
 * 3. `index.lock` is taken. From then on, no other git process changes the index, and most commands of git fail.
 * 4. Every present value is compared with `before` and `after`. The new files are written beside their places.
 * 5. The values are set in this order: HEAD (under `HEAD.lock`), the refs, the files of unfinished operations, the
 *    index. The refs are set in transactions of git, which lock each ref and compare its old value once more.
 *
 * If a value cannot be set, the values that were set before it are put back. Each lock contains the id of the change.
 * If the process is killed and the same change is made again, the new process recognises these locks as its own.
 */
export async function applyGitState(given: GitTarget, change: GitChange, how: ApplyGit): Promise<string | undefined> {
  const { folders } = given;
  // The id is a hash of the change, so an operation that is resumed recognises the locks and temporary files of the
  // first attempt.
  const target = { ...given, mark: sha256(encodeGitChanges([change])) };
  try {
    const refusal = await refusalOf(target, change, how);
    if (refusal !== undefined) return refusal;
    if (!target.isStill()) return MOVED;
    const lock = takeLock(folders.own, "index.lock", target.mark);
    if (typeof lock === "string") return `${lock}${await madeAlready(target, change)}`;
    using _ = lock;
    return await applyLocked({ ...target, isResumed: lock.isOld }, change, how);
  } catch (error) {
    return `it cannot be written (${reasonOf(error)})`;
  } finally {
    folders.own.release();
    folders.common.release();
  }
}

/** Returns the reason for an error of the repository or the disk. Rethrows any other error. */
function reasonOf(error: unknown): string {
  if (error instanceof UnreadableGit) return error.message;
  const errno = errnoOf(error);
  if (errno === undefined) throw error;
  return errno;
}

/**
 * Checks whether the change can be made, and puts its objects into the repository. Returns the reason if the change is
 * refused; else `undefined`.
 */
async function refusalOf(
  { folders, run }: GitTarget,
  change: GitChange,
  { contentOf }: ApplyGit,
): Promise<string | undefined> {
  if (change.items.some(({ name }) => name === GIT_FILE)) return "the file .git lies outside of its git folder";
  const link = linkInTheWay(folders, change);
  if (link !== undefined) return `${link} is a link, and nothing is written through it`;
  const used = usedElsewhere(folders, change);
  if (used !== undefined) return used;
  const config = await checkedConfig(run, folders.own.root);
  if (typeof config === "string") return config;
  for (const pack of change.packs) {
    const bytes = await contentOf(pack);
    if (bytes === undefined) return "the objects that were kept for it were freed";
    const { problem } = await run(safeGit(folders.own.root, ["unpack-objects", "-q"], bytes));
    if (problem !== undefined) return `its objects could not be put back (${problem})`;
  }
  return config.isPartial ? undefined : missingObjects({ run, folders, contentOf }, change);
}

/**
 * Returns a sentence with the names of the values that an interrupted undo has already set; an empty text if there are
 * none.
 */
async function madeAlready({ reader }: GitTarget, { items }: GitChange): Promise<string> {
  const made: string[] = [];
  for (const { name, before, after } of items) {
    if (SOFT_GIT_FILES.has(name) || sameGitValue(name, before, after)) continue;
    if (sameGitValue(name, await reader.valueOf(name), after)) made.push(shown(name));
  }
  return made.length === 0 ? "" : `. It is partly changed: ${made.join(", ")}`;
}

const shown = (name: string): string => name.replace(/^refs\/heads\//, "branch ");

/** A step that was made. `back` reverts the step, and returns the reason if this is not possible. */
interface Made {
  readonly what: string;
  readonly back: () => Promise<string | undefined>;
}

/** A target whose `index.lock` is held. */
interface LockedTarget extends GitTarget {
  /** True if an earlier attempt at the same change was interrupted. */
  readonly isResumed: boolean;
}

async function applyLocked(target: LockedTarget, change: GitChange, how: ApplyGit): Promise<string | undefined> {
  const todo: GitItem[] = [];
  const isHalfMade = await halfMadeStashes(target, change, how);
  for (const item of change.items) {
    const now = await target.reader.valueOf(item.name);
    if (sameGitValue(item.name, now, item.after)) continue;
    if (!sameGitValue(item.name, now, item.before)) {
      if (SOFT_GIT_FILES.has(item.name)) continue;
      if (!isHalfMade(item)) return gitMovedSince(item.name, item.before, now);
    }
    todo.push(item);
  }
  const contents = await contentsOf(todo, how);
  if (typeof contents === "string") return contents;
  const olds = target.reader.tables === undefined ? new Map<string, Buffer>() : await contentsOf(todo.map(turned), how);
  if (typeof olds === "string") return olds;
  if (!target.isStill()) return MOVED;
  const made: Made[] = [];
  let problem: string | undefined;
  const tabled = todo.filter((item) => isTabled(target, item));
  const files = todo.filter((item) => !isGitRef(item.name) && !isTabled(target, item));
  try {
    const staged = stageFiles(target, files, contents);
    try {
      const roots = await withoutLost(target, rootRefs(tabled, olds, contents));
      const refs = [...todo.filter(isInRefs), ...roots];
      const stashes = tabled.find(({ name }) => name === STASH_LOG);
      problem =
        (await setHead(target, todo.find(isHead), how, made)) ??
        (await setRefs(target, stashes === undefined ? refs : refs.filter(({ name }) => name !== STASH), how, made)) ??
        (await setStashes(target, stashes, { olds, contents, message: how.message }, made));
      if (problem === undefined) putFiles(target, { files, staged, made }, how);
    } finally {
      staged.drop();
    }
  } catch (error) {
    problem = `it cannot be written (${reasonOf(error)})`;
  }
  if (problem !== undefined) return takeBack(problem, made);
  if (target.reader.tables === undefined) logHead(target, todo.some(isHead) ? change : undefined, how.message);
  return undefined;
}

function putFiles(
  target: GitTarget,
  { files, staged, made }: { readonly files: readonly GitItem[]; readonly staged: Staged; readonly made: Made[] },
  how: ApplyGit,
): void {
  // The index comes last, because git regards everything else as finished once the index is in place.
  const inOrder = [...files.filter(({ name }) => name !== "index"), ...files.filter(({ name }) => name === "index")];
  for (const item of inOrder) {
    made.push({ what: item.name, back: () => putBackFile(target, item, how) });
    staged.put(item);
  }
  if (inOrder.length > 0) target.folders.own.syncFolder(gitPath(""));
}

const turned = ({ name, before, after }: GitItem): GitItem => ({ name, before: after, after: before });

const STASH = "refs/stash";

/** True if the value of an item is in a reftable. In a repository without reftables, this value is in a file. */
function isTabled({ reader }: GitTarget, { name }: GitItem): boolean {
  return reader.tables !== undefined && (isRootRef(name) || name === STASH_LOG);
}

/**
 * The result is true for the items of the stashes if an interrupted attempt at the change had begun to set the list of
 * stashes, and nothing else has changed the list since.
 */
async function halfMadeStashes(
  target: LockedTarget,
  { items }: GitChange,
  how: ApplyGit,
): Promise<(item: GitItem) => boolean> {
  const list = items.find(({ name }) => name === STASH_LOG);
  if (!target.isResumed || list === undefined || !isTabled(target, list)) return () => false;
  const contents = await contentsOf([list], how);
  if (typeof contents === "string") return () => false;
  const { ref, lines } = stashesNow(target);
  const isHalfMade = isStartOf(lines, linesIn(contents.get(STASH_LOG))) && (ref === undefined) === (lines.length === 0);
  return ({ name }) => isHalfMade && (name === STASH_LOG || name === STASH);
}

function stashesNow({ reader }: GitTarget): TabledStashes {
  // The ref comes first, so that a stash that is added between the two is in the lines, which are compared.
  const ref = reader.tables?.ref(STASH);
  return { ref, lines: linesIn(reader.tables?.file(STASH_LOG)) };
}

/**
 * Converts the items of root refs (refs outside of `refs/`, such as ORIG_HEAD). The content of each file becomes the
 * value of the ref.
 */
function rootRefs(
  tabled: readonly GitItem[],
  olds: ReadonlyMap<string, Buffer>,
  contents: ReadonlyMap<string, Buffer>,
): GitItem[] {
  const refs = tabled.filter(({ name }) => name !== STASH_LOG);
  return refs.map(({ name }) => ({ name, before: valueIn(olds.get(name)), after: valueIn(contents.get(name)) }));
}

/**
 * Leaves out ORIG_HEAD and AUTO_MERGE if the object that they name no longer exists. Git's garbage collection may
 * remove that object, and git does not write a ref without its object.
 */
async function withoutLost({ run, folders: { own } }: GitTarget, refs: readonly GitItem[]): Promise<GitItem[]> {
  const soft = refs.filter(({ name, after }) => after !== undefined && SOFT_GIT_FILES.has(name));
  if (soft.length === 0) return [...refs];
  const input = Buffer.from(soft.map(({ after }) => `${after}\n`).join(""));
  const { stdout } = await run(safeGit(own.root, ["cat-file", "--batch-check=%(objectname)", "--buffer"], input));
  const lost = new Set(
    stdout
      .toString("latin1")
      .split("\n")
      .flatMap((line) => /^(\S+) missing$/.exec(line)?.[1] ?? []),
  );
  return refs.filter(({ after }) => after === undefined || !lost.has(after));
}

const valueIn = (content: Buffer | undefined): string | undefined => content?.toString("utf8").trim();
const linesIn = (content: Buffer | undefined): string[] => content?.toString("utf8").split("\n").slice(0, -1) ?? [];

async function setStashes(
  target: GitTarget,
  item: GitItem | undefined,
  how: {
    readonly olds: ReadonlyMap<string, Buffer>;
    readonly contents: ReadonlyMap<string, Buffer>;
    readonly message: string;
  },
  made: Made[],
): Promise<string | undefined> {
  if (item === undefined) return undefined;
  const { run, folders } = target;
  const [before, after] = [how.olds, how.contents].map((one) => linesIn(one.get(STASH_LOG))) as [string[], string[]];
  const set = async (to: readonly string[]): Promise<string | undefined> => {
    const now = stashesNow(target);
    // The list is as it was, or a part of it is made. Anything else is a stash that was made or dropped meanwhile.
    if (!isDeepStrictEqual(now.lines, before) && !isStartOf(now.lines, after) && !isStartOf(now.lines, to)) {
      return "the list of stashes was changed meanwhile";
    }
    const problem = await setTabledStashes({ run, gitDir: folders.own.root, message: how.message }, now, to);
    if (problem !== undefined) return problem;
    return isDeepStrictEqual(stashesNow(target).lines, to)
      ? undefined
      : "git did not write the list of stashes as it was";
  };
  made.push({ what: "the list of stashes", back: () => set(before) });
  return set(after);
}

/** Reverts the steps, the last one first. Returns the problem and the names of the steps that could not be reverted. */
async function takeBack(problem: string, made: readonly Made[]): Promise<string> {
  const left: string[] = [];
  for (const { what, back } of made.toReversed()) {
    let failure: string | undefined;
    try {
      failure = await back();
    } catch (error) {
      failure = reasonOf(error);
    }
    if (failure !== undefined) left.push(`${what} could not be put back (${failure})`);
  }
  return left.length === 0 ? problem : `${problem}. It is partly changed: ${left.join(", ")}`;
}

/** New files that are written beside their places. */
interface Staged {
  /** Puts the new file of an item into its place, or removes the present file if the item has no `after`. */
  put(item: GitItem): void;
  /** Removes the new files that were not put into place, and the empty folders of unfinished operations. */
  drop(): void;
}

function stageFiles(target: GitTarget, files: readonly GitItem[], contents: ReadonlyMap<string, Buffer>): Staged {
  const { folders, mark } = target;
  const fsOf = (name: string): ConfinedFs => (name === STASH_LOG ? folders.common : folders.own);
  const pathOf = (name: string): ReturnType<typeof gitPath> => gitPath(`${name}.${mark}.new`);
  const drop = (): void => {
    for (const { name, after } of files) if (after !== undefined) dropFile(fsOf(name), pathOf(name));
    dropEmptyFolders(folders.own, files);
  };
  try {
    for (const item of files) {
      const content = contents.get(item.name);
      if (item.after !== undefined && content !== undefined) stageFile(target, item, content);
    }
  } catch (error) {
    drop();
    throw error;
  }
  return {
    drop,
    put: ({ name, after }) => {
      if (after === undefined) dropFile(fsOf(name), gitPath(name));
      else fsOf(name).renameFile(pathOf(name), gitPath(name));
    },
  };
}

/** Writes the content of an item beside its place. */
function stageFile({ disk, folders, mark }: GitTarget, { name, after }: GitItem, content: Buffer): void {
  const fs = name === STASH_LOG ? folders.common : folders.own;
  const parts = name.split("/");
  for (let i = 1; i < parts.length; i += 1) makeFolder(fs, parts.slice(0, i).join("/"));
  const isIndex = name === "index" && after !== undefined;
  const how = isIndex ? { mtimeNs: parseIndexValue(after).mtimeNs, mode: fs.lstat(gitPath(name))?.mode } : {};
  writeStaged(disk, fs, gitPath(`${name}.${mark}.new`), { content, ...how });
}

async function putBackFile(
  target: GitTarget,
  { name, before, after }: GitItem,
  how: ApplyGit,
): Promise<string | undefined> {
  if (!sameGitValue(name, await target.reader.valueOf(name), after)) return undefined;
  const item = { name, before: after, after: before };
  const contents = await contentsOf([item], how);
  if (typeof contents === "string") return contents;
  const staged = stageFiles(target, [item], contents);
  staged.put(item);
  staged.drop();
  return undefined;
}

const isHead = ({ name }: GitItem): boolean => name === "HEAD";

/**
 * Returns the contents that the `after` values of items name, by the name of the item. Leaves out refs. Returns the
 * reason if a content is missing.
 */
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

interface TakenLock extends Disposable {
  /** True if an earlier attempt at the same change has left the lock. */
  readonly isOld: boolean;
}

/**
 * Takes a lock as git does, by creating the lock file. The disposal of the result removes the file. Returns the reason
 * if git or another change has the lock.
 */
function takeLock(fs: ConfinedFs, name: string, id: string): TakenLock | string {
  const mark = `chronicle ${id}\n`;
  let isOld = false;
  try {
    writeNewFile(fs, gitPath(name), MODE, Buffer.from(mark));
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
    const text = lockText(fs, name);
    if (text?.startsWith("chronicle ") === true && text !== mark) {
      return `${name} exists: another undo or redo has it, or one that was killed has left it. If none is at work, remove .git/${name}`;
    }
    isOld = text === mark;
    if (!isOld) return `${name} exists: git is at work, or a git that was killed has left it`;
  }
  return { isOld, [Symbol.dispose]: () => dropFile(fs, gitPath(name)) };
}

function writeStaged(
  disk: Disk,
  fs: ConfinedFs,
  path: ReturnType<typeof gitPath>,
  how: { readonly content: Buffer; readonly mtimeNs?: bigint | undefined; readonly mode?: number | undefined },
): void {
  const { content, mtimeNs, mode = MODE } = how;
  dropFile(fs, path);
  using file = fs.create(path, mode);
  fs.write(file, content);
  if (mtimeNs !== undefined) disk.setMtime(file.fd, mtimeNs);
  fs.sync(file);
}

/** Sets HEAD. Returns the reason if it could not be set. */
async function setHead(
  target: GitTarget,
  item: GitItem | undefined,
  { message }: ApplyGit,
  made: Made[],
): Promise<string | undefined> {
  if (item?.after === undefined) return undefined;
  const { own } = target.folders;
  const write = (value: string): string | undefined | Promise<string | undefined> => {
    if (target.reader.tables !== undefined) {
      return setTabledHead({ run: target.run, gitDir: own.root, message }, value);
    }
    const lock = takeLock(own, "HEAD.lock", target.mark);
    if (typeof lock === "string") return lock;
    using _ = lock;
    const staged = gitPath(`HEAD.${target.mark}.new`);
    try {
      writeStaged(target.disk, own, staged, {
        content: Buffer.from(`${value}\n`),
        mode: own.lstat(gitPath("HEAD"))?.mode,
      });
      own.renameFile(staged, gitPath("HEAD"));
    } catch (error) {
      dropFile(own, staged);
      throw error;
    }
    return undefined;
  };
  const { before } = item;
  const problem = await write(item.after);
  if (problem !== undefined) return problem;
  if (before !== undefined) made.push({ what: "HEAD", back: async () => write(before) });
  return undefined;
}

/**
 * Appends a line to the reflog of HEAD, if HEAD has a reflog. If that fails, the change counts as made nevertheless,
 * because git does not need the line.
 */
function logHead({ disk, folders: { own }, now }: GitTarget, change: GitChange | undefined, message: string): void {
  if (change === undefined) return;
  const [was, is] = [change.before.commit, change.after.commit].map((commit) => commit ?? ZEROS);
  const line = `${was} ${is} Chronicle <chronicle@localhost> ${Math.floor(now / 1_000)} +0000\t${message}\n`;
  try {
    if (own.lstat(gitPath(HEAD_LOG))?.kind !== "file") return;
    const fd = disk.open(own.at(gitPath(HEAD_LOG)), "append");
    try {
      writeFully(disk, fd, Buffer.from(line), null);
    } finally {
      disk.close(fd);
    }
  } catch (error) {
    reasonOf(error);
  }
}

/**
 * Sets the refs in one transaction of git. Git refuses a transaction that deletes `a` and creates `a/b`, or the other
 * way round. In such a case, the deletions are made first, in a transaction of their own. Returns the reason if git
 * refuses.
 */
async function setRefs(
  target: GitTarget,
  items: readonly GitItem[],
  { message }: ApplyGit,
  made: Made[],
): Promise<string | undefined> {
  const isSymbolic = ({ before, after }: GitItem): boolean => [before, after].some((one) => one?.startsWith(REF));
  const symbolic = items.find(isSymbolic);
  if (symbolic !== undefined) return `${symbolic.name} is a symbolic ref, which is not put back`;
  const deleted = items.filter(({ after }) => after === undefined);
  const created = items.filter(({ before, after }) => before === undefined && after !== undefined);
  const isWithin = (a: GitItem, b: GitItem): boolean => a.name.startsWith(`${b.name}/`);
  const collide = deleted.some((gone) => created.some((one) => isWithin(gone, one) || isWithin(one, gone)));
  const groups = collide ? [deleted, items.filter(({ after }) => after !== undefined)] : [items];
  for (const group of groups.filter(({ length }) => length > 0)) {
    const problem = await updateRefs(target, group, message);
    if (problem !== undefined) return problem;
    const inverse = group.map(({ name, before, after }) => ({ name, before: after, after: before }));
    const what = group.map(({ name }) => shown(name)).join(", ");
    made.push({ what, back: () => updateRefs(target, inverse, `${message} (taken back)`) });
  }
  return undefined;
}

async function updateRefs(
  { run, folders: { own } }: GitTarget,
  items: readonly GitItem[],
  message: string,
): Promise<string | undefined> {
  const lines = items.map(({ name, before, after }) => {
    if (after === undefined) return `delete ${name}\0${before ?? ""}\0`;
    return before === undefined ? `create ${name}\0${after}\0` : `update ${name}\0${after}\0${before}\0`;
  });
  const args = ["update-ref", "--no-deref", "-m", message, "--stdin", "-z"];
  const { problem } = await run(safeGit(own.root, args, Buffer.from(lines.join(""))));
  return problem === undefined ? undefined : `git did not change the refs (${problem})`;
}

function makeFolder(fs: ConfinedFs, name: string): void {
  try {
    fs.makeFolder(gitPath(name), 0o755);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/** Removes the empty folders of operations. Git would take even an empty folder for an unfinished operation. */
function dropEmptyFolders(fs: ConfinedFs, files: readonly GitItem[]): void {
  const folders = new Set<string>();
  for (const { name } of files) {
    if (!STATE_FOLDERS.some((top) => name.startsWith(`${top}/`))) continue;
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
