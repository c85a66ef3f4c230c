import { type GitChange, type GitItem, REF, sameGitValue } from "../../core/records/git-record.ts";
import type { ApplyGit } from "../git-states.ts";
import { isStartOf, oldOf, setTabledStashes, type TabledStashes } from "./apply-tabled-refs.ts";
import { gitPath } from "./git-folder-pair.ts";
import {
  contentsOf,
  dropOldLock,
  type GitTarget,
  type LockedTarget,
  type Made,
  makeFoldersOf,
  stagedAtTop,
  takeLock,
  turned,
  writeStaged,
} from "./git-target.ts";
import { dropFile } from "./new-file.ts";
import { safeGit } from "./run-git.ts";
import { STASH_LOG } from "./table-refs.ts";
import { isDeepStrictEqual } from "node:util";

/**
 * Sets the list of stashes: the ref `refs/stash`, and its reflog, in which each line is a stash. Each step can be
 * interrupted, and is completed by the next attempt at the same change.
 *
 * A repository stores its refs in files or in tables (git's format `reftable`). In files, Chronicle writes the ref and
 * its reflog itself, under git's lock of the ref, because git would add a line to the reflog. In tables, git writes the
 * reflog line by line.
 */

const STASH = "refs/stash";
const STASH_LOCK = `${STASH}.lock`;
const CHANGED = "the list of stashes was changed meanwhile";

/** Returns true for the items that `setStashes` sets. In tables, a ref without its reflog is set like any other ref. */
export function isOfStashes({ reader }: GitTarget, items: readonly GitItem[]): (item: GitItem) => boolean {
  const hasLog = items.some(({ name }) => name === STASH_LOG);
  return ({ name }) => name === STASH_LOG || (name === STASH && (reader.tables === undefined || hasLog));
}

/**
 * Sets the items of the stashes. Returns the reason if they could not be set.
 *
 * @param items The items for which `isOfStashes` is true.
 */
export async function setStashes(
  target: LockedTarget,
  items: readonly GitItem[],
  how: ApplyGit,
  made: Made[],
): Promise<string | undefined> {
  if (items.length === 0) return undefined;
  if (items.some(({ before, after }) => [before, after].some((one) => one?.startsWith(REF)))) {
    return `${STASH} is a symbolic ref, which is not put back`;
  }
  if (target.reader.tables !== undefined) return setInTables(target, items, how, made);
  return setInFiles(target, items, how, made);
}

async function setInFiles(
  target: GitTarget,
  items: readonly GitItem[],
  how: ApplyGit,
  made: Made[],
): Promise<string | undefined> {
  const contents = await contentsOf(items, how);
  if (typeof contents === "string") return contents;
  const { common } = target.folders;
  const lock = takeLock(common, STASH_LOCK, target);
  if (typeof lock === "string") return lock;
  using held = lock;
  const todo = new Map<string, GitItem>();
  for (const item of items) {
    const now = await target.reader.valueOf(item.name);
    if (sameGitValue(item.name, now, item.after)) continue;
    if (!sameGitValue(item.name, now, item.before)) return CHANGED;
    todo.set(item.name, item);
  }
  made.push({ what: "the list of stashes", back: () => setInFiles(target, items.map(turned), how, []) });
  const [ref, log] = [todo.get(STASH), todo.get(STASH_LOG)];
  if (ref !== undefined && ref.after === undefined) {
    // Let git delete the ref: git then also removes the ref from the packed refs, and removes the reflog.
    held[Symbol.dispose]();
    const problem = await deleteRef(target, ref, how);
    if (problem !== undefined) return problem;
    // The lock is given up, so a list that somebody has made in the meantime stays.
    if (log?.after === undefined) return undefined;
  }
  if (log !== undefined) putFile(target, STASH_LOG, contents.get(STASH_LOG));
  if (ref?.after !== undefined) putFile(target, STASH, Buffer.from(`${ref.after}\n`));
  return undefined;
}

async function deleteRef({ run, folders: { own } }: GitTarget, { before }: GitItem, how: ApplyGit) {
  const args = ["update-ref", "--no-deref", "-m", how.message, "-d", STASH, ...(before === undefined ? [] : [before])];
  const { problem } = await run(safeGit(own.root, args));
  return problem === undefined ? undefined : `git did not change the refs (${problem})`;
}

/** Removes what an interrupted attempt at the same change has left beside the stashes. */
export function dropStashLeftovers(target: GitTarget): void {
  const { common } = target.folders;
  dropOldLock(common, STASH_LOCK, target);
  for (const name of [STASH, STASH_LOG]) dropFile(common, gitPath(stagedAtTop(target, name)));
}

/** Puts a file into its place by a rename; without a content, removes the file. */
function putFile(target: GitTarget, name: string, content: Buffer | undefined): void {
  const { disk, folders } = target;
  if (content === undefined) {
    dropFile(folders.common, gitPath(name));
    return;
  }
  const staged = gitPath(stagedAtTop(target, name));
  makeFoldersOf(folders.common, name);
  try {
    writeStaged(disk, folders.common, staged, { content });
    folders.common.renameFile(staged, gitPath(name));
  } finally {
    dropFile(folders.common, staged);
  }
  folders.common.syncFolder(gitPath(name.slice(0, name.lastIndexOf("/"))));
}

async function setInTables(
  target: LockedTarget,
  items: readonly GitItem[],
  how: ApplyGit,
  made: Made[],
): Promise<string | undefined> {
  const lists = await listsOf(items, how);
  if (typeof lists === "string") return lists;
  const { before, after } = lists;
  const { run, folders, isResumed } = target;
  const set = async (to: readonly string[]): Promise<string | undefined> => {
    const now = stashesNow(target);
    // The list is as it was before, or the new list is written in part. In all other cases, somebody has made or
    // dropped a stash meanwhile.
    const isOurs = isDeepStrictEqual(now.lines, before) || isStartOf(now.lines, after) || isStartOf(now.lines, to);
    if (!isOurs && !(isResumed && isStartOf(now.lines, before))) return CHANGED;
    const problem = await setTabledStashes({ run, gitDir: folders.own.root, message: how.message }, now, to);
    if (problem !== undefined) return problem;
    return isDeepStrictEqual(stashesNow(target).lines, to)
      ? undefined
      : "git did not write the list of stashes as it was";
  };
  made.push({ what: "the list of stashes", back: () => set(before) });
  return set(after);
}

/**
 * Returns a function that tells whether an item belongs to a half-made list of stashes. The list is half-made if an
 * interrupted attempt at the change had begun to set the list in tables, or to put it back, and if nothing else has
 * changed the list since.
 */
export async function halfMadeStashes(
  target: LockedTarget,
  { items }: GitChange,
  how: ApplyGit,
): Promise<(item: GitItem) => boolean> {
  if (!target.isResumed || target.reader.tables === undefined) return () => false;
  const lists = await listsOf(items, how);
  if (typeof lists === "string") return () => false;
  const { ref, lines } = stashesNow(target);
  const isHalfMade = [lists.after, lists.before].some(
    (all) =>
      isStartOf(lines, all) && (lines.length > 0 ? ref !== undefined : ref === undefined || ref === oldOf(all[0])),
  );
  return ({ name }) => isHalfMade && (name === STASH_LOG || name === STASH);
}

interface Lists {
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** Returns the lines of the reflog before and after a change of the stashes. Returns the reason if a content is missing. */
async function listsOf(items: readonly GitItem[], how: ApplyGit): Promise<Lists | string> {
  const logs = items.filter(({ name }) => name === STASH_LOG);
  const [before, after] = [await contentsOf(logs.map(turned), how), await contentsOf(logs, how)];
  if (typeof before === "string") return before;
  if (typeof after === "string") return after;
  return { before: linesIn(before.get(STASH_LOG)), after: linesIn(after.get(STASH_LOG)) };
}

const linesIn = (content: Buffer | undefined): string[] => content?.toString("utf8").split("\n").slice(0, -1) ?? [];

function stashesNow({ reader }: GitTarget): TabledStashes {
  // Read the ref first. A stash that is added between the two reads is then in the lines, which are compared.
  const ref = reader.tables?.ref(STASH);
  return { ref, lines: linesIn(reader.tables?.file(STASH_LOG)) };
}
