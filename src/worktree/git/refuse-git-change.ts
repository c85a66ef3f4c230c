import { parseGitIndex, UnusableIndex } from "../../core/filter/git-index.ts";
import { type GitChange, type GitItem, parseIndexValue, REF } from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { decodeName } from "../../core/values/path.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import type { ContentOf } from "../git-states.ts";
import { type GitFolderPair, gitPath, linkOnTheWay } from "./git-folder-pair.ts";
import { lineIn, otherWorktrees, shownWorktree } from "./other-worktrees.ts";
import { HOOK_EVENTS, type RunGit, safeGit } from "./run-git.ts";
import { STASH_LOG, TABLES_LIST } from "./table-refs.ts";

/** The reflog of HEAD, the only reflog that Chronicle writes itself. Git writes the others. */
export const HEAD_LOG = "logs/HEAD";

/** Returns the path of a symbolic link through which git would write; `undefined` if there is none. */
export function linkInTheWay({ own, common }: GitFolderPair, { items }: GitChange): string | undefined {
  const refs = items.filter(isInRefs).flatMap(({ name }) => [name, `logs/${name}`]);
  const names = ["objects", "packed-refs", TABLES_LIST, HEAD_LOG, STASH_LOG, ...refs, ...items.map(({ name }) => name)];
  for (const fs of new Set([own, common])) {
    const found = names.map((name) => linkOnTheWay(fs, name)).find((one) => one !== undefined);
    if (found !== undefined) return found;
  }
  return linkAmongObjects(common);
}

export const isInRefs = ({ name }: GitItem): boolean => name.startsWith("refs/");

/** Returns the path of a symbolic link to which git would write objects; `undefined` if there is none. */
function linkAmongObjects(common: ConfinedFs): string | undefined {
  if (common.lstat(gitPath("objects")) === undefined) return undefined;
  const all = common.list(gitPath("objects")).map(({ name, kind }) => ({ name: decodeName(name), kind }));
  const link = all.find(({ name, kind }) => kind === "symlink" && /^(?:[0-9a-f]{2}|pack|info)$/i.test(name));
  return link === undefined ? undefined : `objects/${link.name}`;
}

/**
 * Returns the reason to refuse the change, if another working tree of the repository has a branch of the change checked
 * out. If the branch were moved, the other working tree would show changes that nobody has made there. If the branch
 * were checked out here, too, the next commit in one working tree would have the same effect in the other.
 */
export function usedElsewhere(folders: GitFolderPair, { items }: GitChange): string | undefined {
  const changed = new Set(items.filter(isInRefs).map(({ name }) => name));
  const head = items.find(({ name }) => name === "HEAD")?.after;
  if (head?.startsWith(REF) === true) changed.add(head.slice(REF.length));
  if (changed.size === 0) return undefined;
  for (const other of otherWorktrees(folders)) {
    const used = other.branches.find((branch) => changed.has(branch));
    if (used !== undefined)
      return `branch ${used.replace("refs/heads/", "")} is checked out in ${shownWorktree(other)}`;
  }
  return undefined;
}

/** Returns the text of a lock file; `undefined` if the file cannot be read. */
export function lockText(fs: ConfinedFs, name: string): string | undefined {
  try {
    return lineIn(fs, name);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    return undefined;
  }
}

/** Facts from the configuration of a repository, as git itself reads the configuration. */
export interface GitConfigFacts {
  /**
   * True if objects can be missing in the repository, because git gets them from a server only when they are needed.
   */
  readonly isPartial: boolean;
}

/**
 * Reads the configuration of a repository. Returns the reason to refuse a change, if git cannot read the configuration,
 * or if the configuration has hooks, which git would start.
 */
export async function checkedConfig(run: RunGit, gitDir: string): Promise<GitConfigFacts | string> {
  const { stdout, problem } = await run(safeGit(gitDir, ["config", "--list", "--name-only", "-z"]));
  if (problem !== undefined) return `git cannot read the configuration of the repository (${problem})`;
  const names = stdout.toString("latin1").split("\0");
  const hook = names.find((name) => name.startsWith("hook.") && !OFF.has(name));
  if (hook !== undefined) return `the configuration of the repository has a hook (${hook})`;
  const isPartial = names.some((name) => name === "extensions.partialclone" || /^remote\..*\.promisor$/.test(name));
  return { isPartial };
}

const OFF: ReadonlySet<string> = new Set(HOOK_EVENTS.map((event) => `hook.${event}.enabled`));

interface IndexCheck {
  readonly run: RunGit;
  readonly folders: GitFolderPair;
  readonly contentOf: ContentOf;
}

/**
 * Returns the reason to refuse a change, if the index that the change puts back names objects that no longer exist.
 * Objects that the present index also names are not checked, because the change makes nothing worse for them.
 */
export async function missingObjects(
  { run, folders, contentOf }: IndexCheck,
  { items }: GitChange,
): Promise<string | undefined> {
  const { before, after } = items.find(({ name }) => name === "index") ?? {};
  const wanted = await objectsOfIndex(after, folders, contentOf);
  const present = new Set(await objectsOfIndex(before, folders, contentOf));
  const asked = [...new Set(wanted)].filter((one) => !present.has(one) && !EMPTY.has(one));
  if (asked.length === 0) return undefined;
  const args = ["cat-file", "--batch-check=%(objectname)", "--buffer"];
  const { stdout, problem } = await run(safeGit(folders.own.root, args, Buffer.from(`${asked.join("\n")}\n`)));
  if (problem !== undefined) return `the objects of the index cannot be checked (${problem})`;
  const lines = stdout.toString("latin1").split("\n");
  const lacking = lines.filter((line) => line.endsWith(" missing")).length;
  if (lacking === 0) return undefined;
  return `${lacking === 1 ? "an object" : `${lacking} objects`} of the index no longer exist${lacking === 1 ? "s" : ""}`;
}

const REPOSITORY = 0o160000;

/** The SHA-1 and SHA-256 hashes of git's empty blob. `git add -N` names this blob in the index without storing it. */
const EMPTY: ReadonlySet<string> = new Set([
  "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
  "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
]);

/**
 * Returns the hashes of the objects that an index names, except commits of submodules. `value`: the recorded value of
 * the index.
 */
async function objectsOfIndex(
  value: string | undefined,
  { hashBytes }: GitFolderPair,
  contentOf: ContentOf,
): Promise<readonly string[]> {
  const content = value === undefined ? undefined : await contentOf(parseIndexValue(value).blob);
  if (content === undefined) return [];
  const found: string[] = [];
  try {
    parseGitIndex(content, hashBytes, ({ mode, hash }) => {
      if ((mode.readUInt32BE(0) & 0o170000) !== REPOSITORY) found.push(hash.toString("hex"));
    });
    return found;
  } catch (error) {
    // A split or sparse index cannot be parsed here. Such an index is put back byte for byte, without a check.
    if (error instanceof UnusableIndex) return [];
    throw error;
  }
}
