import type { WorkspacePath } from "../values/path.ts";
import { isStagingName } from "../tree/staging-folder.ts";

// Some file systems treat the following names as `.git`, or as the folder in which Chronicle stages files:
// - names in another case
// - names with characters that HFS+ ignores
// - names with dots, blanks or stream names that Windows ignores
// - the short name of `.git` on Windows
//
// A peer that could write to such a name could install a git hook. The hook would run at a person's next `git commit`.

/** Characters that HFS+ ignores in names. */
const LEFT_OUT = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;
const SHORT = /^git~\d$/;
const GIT = ".git";

/**
 * Matches every path with a name that some file system treats as `.git` or as the staging folder, and few other paths.
 * A path that does not match needs no further test.
 */
const MAYBE = /git|chronicle|[^\p{ASCII}]/iu;

/** Returns the path up to its first component `.git`; `undefined` if no component is `.git`. */
export function gitFolderOf(path: WorkspacePath): WorkspacePath | undefined {
  const names = path.split("/");
  const at = names.indexOf(GIT);
  return at < 0 ? undefined : (names.slice(0, at + 1).join("/") as WorkspacePath);
}

/**
 * Returns true if some file system treats a name in the path as `.git` or as the staging folder. This includes `.git`
 * itself.
 */
export function hasGitName(path: string): boolean {
  return MAYBE.test(path) && path.split("/").some(isGitName);
}

/** Returns true if some file system treats the name as `.git` or as the staging folder. */
export function isGitName(name: string): boolean {
  if (!MAYBE.test(name)) return false;
  const [bare = ""] = name.replaceAll(LEFT_OUT, "").split(":", 1);
  const folded = bare
    .replace(/[. ]+$/u, "")
    .toUpperCase()
    .toLowerCase();
  return folded === GIT || isStagingName(folded) || SHORT.test(folded);
}
