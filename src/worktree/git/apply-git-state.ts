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
import { sha256 } from "../../core/values/hash.ts";
import { writeFully } from "../../disk/write-fully.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { ApplyGit } from "../git-states.ts";
import { gitPath, UnreadableGit } from "./git-folder-pair.ts";
import {
  contentsOf,
  dropOldLock,
  type GitTarget,
  type LockedTarget,
  type Made,
  makeFoldersOf,
  stagedName,
  takeLock,
  turned,
  writeStaged,
} from "./git-target.ts";
import { dropFile } from "./new-file.ts";
import { STATE_FOLDERS } from "./read-git-state.ts";
import { checkedConfig, HEAD_LOG, isInRefs, linkInTheWay, missingObjects, usedElsewhere } from "./refuse-git-change.ts";
import { safeGit } from "./run-git.ts";
import { isRootRef, STASH_LOG } from "./table-refs.ts";
import { dropStashLeftovers, halfMadeStashes, isOfStashes, setStashes } from "./apply-stashes.ts";
import { setTabledHead } from "./apply-tabled-refs.ts";

/** The reason to refuse a change whose git folder was found, but is no longer in its place. */
export const MOVED = "its git folder was moved or replaced meanwhile";

const HEAD_LOCK = "HEAD.lock";
const ZEROS = "0".repeat(40);

/**
 * Changes a repository under git's own locks: see `GitStates.apply`.
 *
 * 1. The change is refused if it is impossible or harmful (see refuse-git-change.ts).
 * 2. The objects are put into the repository. The objects can stay there if a later step fails, because unreachable
 *    objects do no harm.
 * 3. `index.lock` is taken. From then on, no other git process changes the index, and most commands of git fail.
 * 4. Every present value is compared with `before` and `after`. The new files are written beside their places.
 * 5. The values are set in this order: HEAD (under `HEAD.lock`), the refs, the files of unfinished operations, the
 *    index. The refs are set in transactions of git, which lock each ref and compare its old value once more. The list of
 *    stashes follows the refs (see apply-stashes.ts).
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
    const lock = takeLock(folders.own, "index.lock", target);
    if (typeof lock === "string") return `${lock}${await madeAlready(target, change)}`;
    using _ = lock;
    if (lock.isOld) dropLeftovers(target, change);
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
  const isStash = isOfStashes(target, todo);
  const tabled = todo.filter((item) => isTabled(target, item));
  const files = todo.filter((item) => !isGitRef(item.name) && !isTabled(target, item) && !isStash(item));
  try {
    const staged = stageFiles(target, files, contents);
    try {
      const roots = await withoutLost(target, rootRefs(tabled, olds, contents));
      const refs = [...todo.filter((item) => isInRefs(item) && !isStash(item)), ...roots];
      problem =
        (await setHead(target, todo.find(isHead), how, made)) ??
        (await setRefs(target, refs, how, made)) ??
        (await setStashes(target, todo.filter(isStash), how, made));
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

/** True if the value of an item is in a reftable. In a repository without reftables, this value is in a file. */
function isTabled({ reader }: GitTarget, { name }: GitItem): boolean {
  return reader.tables !== undefined && isRootRef(name);
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
  return tabled.map(({ name }) => ({ name, before: valueIn(olds.get(name)), after: valueIn(contents.get(name)) }));
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
  const { own } = target.folders;
  const drop = (): void => dropStaged(target, files);
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
      if (after === undefined) dropFile(own, gitPath(name));
      else own.renameFile(gitPath(stagedName(target, name)), gitPath(name));
    },
  };
}

/** Removes what an interrupted attempt at the same change has left beside the values, except `index.lock`. */
function dropLeftovers(target: GitTarget, { items }: GitChange): void {
  const { own } = target.folders;
  dropOldLock(own, HEAD_LOCK, target);
  dropFile(own, gitPath(stagedName(target, "HEAD")));
  dropStashLeftovers(target);
  dropStaged(target, items);
}

/** Removes the new files of items that were not put into place, and the empty folders of unfinished operations. */
function dropStaged(target: GitTarget, items: readonly GitItem[]): void {
  const { own } = target.folders;
  const files = items.filter(({ name }) => !isGitRef(name) && name !== STASH_LOG);
  for (const { name } of files) dropFile(own, gitPath(stagedName(target, name)));
  dropEmptyFolders(own, files);
}

/** Writes the content of an item beside its place. */
function stageFile(target: GitTarget, { name, after }: GitItem, content: Buffer): void {
  const { own } = target.folders;
  makeFoldersOf(own, name);
  const isIndex = name === "index" && after !== undefined;
  const how = isIndex ? { mtimeNs: parseIndexValue(after).mtimeNs, mode: own.lstat(gitPath(name))?.mode } : {};
  writeStaged(target.disk, own, gitPath(stagedName(target, name)), { content, ...how });
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
    const lock = takeLock(own, HEAD_LOCK, target);
    if (typeof lock === "string") return lock;
    using _ = lock;
    const staged = gitPath(stagedName(target, "HEAD"));
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
 * Sets the refs in one transaction of git. Git refuses a transaction that deletes `a` and creates `a/b`, or that
 * deletes `a/b` and creates `a`. For such changes, the deletions are made first, in a transaction of their own. Returns
 * the reason if git refuses.
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
