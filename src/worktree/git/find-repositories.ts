import { childOf, pathInRoot, ROOT, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { TrackedRoot } from "../worktree.ts";
import type { GitFiles } from "./git-files.ts";
import { GitFolders, NotedMap } from "./git-folders.ts";
import { type FoundRepository, type GitRepository, RepositoryFinder } from "./git-repository.ts";
import type { GitUser } from "./git-settings.ts";

/** The maximum number of repositories within the tracked folders whose state is recorded. */
const MOST_NESTED = 100;

/** A repository, or the reason why its state is not recorded. */
export interface RepositoryPlace {
  /** The path of the repository's `.git`. */
  readonly path: WorkspacePath;
  readonly found: GitRepository | string;
}

/**
 * Returns the identity of the folders of a repository. If the identity is different later, one of the folders was
 * replaced.
 */
export function identityOf(files: GitFiles, { gitDir, commonDir }: GitRepository): string {
  const stats = [gitDir, commonDir].map((folder) => files.peek(folder));
  return stats.map((stat) => `${stat?.kind} ${stat?.dev} ${stat?.ino}`).join("\n");
}

interface FindParts {
  readonly files: GitFiles;
  readonly user: GitUser;
  readonly roots: readonly TrackedRoot[];
  /** The folders of the workspace in which repositories may begin, apart from the tracked folders themselves. */
  readonly nested: readonly WorkspacePath[];
}

/**
 * Finds the repositories that begin in the tracked folders and in folders within them. Follows no link in the path of a
 * repository, because a folder of `nested` may have been replaced by a link since it was found. Looks for no
 * repositories within a tracked folder to which git's rules do not apply.
 */
export function findRepositories({ files, user, roots, nested }: FindParts): readonly RepositoryPlace[] {
  const all: RepositoryPlace[] = [];
  const seen = new Set<string>();
  let within = 0;
  for (const root of roots) {
    if (root.folder === "" || root.only !== undefined) continue;
    const folders = new GitFolders(files, new NotedMap<true, string>());
    const finder = new RepositoryFinder({ files, user, folders }, root.folder);
    const take = (folder: WorkspacePath, found: FoundRepository): void => {
      if (found === undefined) return;
      const path = pathInRoot(root.id, childOf(folder, ".git"));
      if ("problem" in found) {
        all.push({ path, found: found.problem.detail });
        return;
      }
      // A `.git` file may lead to the git folder of a repository that was found already.
      if (seen.has(found.gitDir)) return;
      seen.add(found.gitDir);
      all.push({ path, found: whyNot(found, root, files) ?? found });
    };
    take(ROOT, finder.atRoot());
    const known = root.filter.useGitignore ? nested.map((path) => splitRoot(path)) : [];
    const inner = known.filter(({ root: id, path }) => id === root.id && path !== ROOT);
    within += inner.length;
    for (const { path } of inner.slice(0, MOST_NESTED)) {
      if (isPlainFolder(files, root.folder, path)) take(path, finder.beneath(path));
    }
  }
  if (within > MOST_NESTED) all.push({ path: TOO_MANY, found: `there are more than ${MOST_NESTED} within the folder` });
  return all;
}

const TOO_MANY = "" as WorkspacePath;

/** True if `above/beneath` is a folder, and no part of `beneath` is a link. */
function isPlainFolder(files: GitFiles, above: string, beneath: string): boolean {
  const names = beneath.split("/");
  return names.every((_, i) => files.stat(`${above}/${names.slice(0, i + 1).join("/")}`)?.kind === "dir");
}

/** Returns the reason why the state of a repository is not recorded; `undefined` if the state is recorded. */
function whyNot(repository: GitRepository, { folder }: TrackedRoot, files: GitFiles): string | undefined {
  const { place, gitDir, commonDir, settings } = repository;
  if (place.above !== "") return "it begins above the workspace";
  const isInside = (one: string): boolean =>
    one.startsWith(`${folder}/`) && isPlainFolder(files, folder, one.slice(folder.length + 1));
  const isOutside = [gitDir, commonDir].some((one) => !isInside(one));
  if (isOutside && !isPointedBack(repository, files)) {
    return "its git folder lies outside of the workspace, and does not name this folder";
  }
  if (settings.refStorage === "reftable") return undefined;
  if (settings.refStorage !== "files") return `it stores its refs in another way than files: ${settings.refStorage}`;
  const head = files.text(`${gitDir}/HEAD`, MOST_HEAD_BYTES);
  const isStub = head !== undefined && "text" in head && head.text.trim() === "ref: refs/heads/.invalid";
  const isTabled = isStub || [gitDir, commonDir].some((one) => files.stat(`${one}/reftable`) !== undefined);
  return isTabled ? "it has a reftable, and its configuration says that its refs are files" : undefined;
}

const MOST_HEAD_BYTES = 4 * 1024;

/**
 * True if a git folder names the working tree as its own, as the git folders of linked working trees and of submodules
 * do. An agent could write a `.git` file in the workspace that names any repository of the user. But the agent cannot
 * make that repository name the working tree.
 */
function isPointedBack({ top, gitDir, commonDir, settings }: GitRepository, files: GitFiles): boolean {
  if (files.stat(`${top}/.git`)?.kind !== "file") return false;
  if (gitDir === commonDir) return settings.workTree !== undefined;
  if (gitDir.slice(0, gitDir.lastIndexOf("/")) !== `${commonDir}/worktrees`) return false;
  const found = files.text(`${gitDir}/gitdir`, MOST_HEAD_BYTES);
  const back = found !== undefined && "text" in found ? found.text.replace(/[\r\n]+$/, "") : "";
  return back !== "" && files.real(back.startsWith("/") ? back : `${gitDir}/${back}`) === `${top}/.git`;
}
