import { type GitWorktree, isGitName, REF } from "../../core/records/git-record.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { decodeName } from "../../core/values/path.ts";
import type { ConfinedFs } from "../files/confined-fs.ts";
import { type GitFolderPair, gitPath, linkOnTheWay, UnreadableGit } from "./git-folder-pair.ts";
import { headInTables, TABLES } from "./table-refs.ts";

/** The maximum number of working trees of one repository. */
const MOST_WORKTREES = 1_000;

/**
 * The files that name the branches in use in a working tree. HEAD names the branch that is checked out. The other files
 * name the branch that an unfinished rebase will move.
 */
const BRANCH_FILES = ["HEAD", "rebase-merge/head-name", "rebase-apply/head-name"];

/**
 * Returns the other working trees of a repository, with the branches that each of them uses. Throws `UnreadableGit` if
 * there are too many working trees, or if one of the paths to be read is a link.
 */
export function otherWorktrees(folders: GitFolderPair): GitWorktree[] {
  const { own, common, isBare } = folders;
  const main = own === common || isBare ? [] : [""];
  const linked = namesOfLinked(common).filter((name) => own.root !== `${common.root}/worktrees/${name}`);
  return [...main, ...linked].map((name) => ({ name, branches: branchesOf(folders, name) }));
}

/** Returns words that name a working tree for people. */
export function shownWorktree({ name }: Pick<GitWorktree, "name">): string {
  return name === "" ? "the main working tree" : `the working tree ${name}`;
}

function namesOfLinked(common: ConfinedFs): string[] {
  const kind = common.lstat(gitPath("worktrees"))?.kind;
  if (kind === "symlink") throw new UnreadableGit("worktrees is a link");
  if (kind !== "dir") return [];
  const listed = common.list(gitPath("worktrees"));
  if (listed.length > MOST_WORKTREES) throw new UnreadableGit(`it has more than ${MOST_WORKTREES} working trees`);
  const names = listed.filter(({ kind }) => kind === "dir").map(({ name }) => decodeName(name));
  const unsafe = names.find((name) => !isGitName(name));
  if (unsafe !== undefined) throw new UnreadableGit("one of its working trees has a name that is no plain text");
  return names.filter((name) => common.lstat(gitPath(`worktrees/${name}/HEAD`)) !== undefined).sort();
}

function branchesOf({ common, hashBytes, isReftable }: GitFolderPair, worktree: string): string[] {
  const branches = new Set<string>();
  for (const file of BRANCH_FILES) {
    const name = worktree === "" ? file : `worktrees/${worktree}/${file}`;
    const link = linkOnTheWay(common, name);
    if (link !== undefined) throw new UnreadableGit(`${link} is a link`);
    const line =
      isReftable && file === "HEAD"
        ? headInTables(common, hashBytes, worktree === "" ? TABLES : `worktrees/${worktree}/${TABLES}`)
        : lineIn(common, name);
    const branch = line?.replace(REF, "").trim() ?? "";
    if (branch.startsWith("refs/")) branches.add(branch);
  }
  return [...branches];
}

const MOST_LINE_BYTES = 4 * 1024;

/** Returns the text of a short file; `undefined` if there is no regular file of this name. */
export function lineIn(fs: ConfinedFs, name: string): string | undefined {
  if (fs.lstat(gitPath(name))?.kind !== "file") return undefined;
  try {
    using file = fs.openRead(gitPath(name));
    const bytes = Buffer.alloc(MOST_LINE_BYTES);
    return bytes.toString("utf8", 0, fs.read(file, bytes, 0));
  } catch (error) {
    // Another git process has removed the file meanwhile.
    if (errnoOf(error) === "ENOENT" || errnoOf(error) === "ENOTDIR") return undefined;
    throw error;
  }
}
