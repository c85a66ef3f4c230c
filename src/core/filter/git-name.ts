import type { WorkspacePath } from "../values/path.ts";
import { isStagingName } from "../tree/staging-folder.ts";

/**
 * Names that some file system takes for `.git`, or for the folder in which Chronicle stages: in another case, with characters that
 * HFS+ leaves out of names, with the dots, blanks and stream names that Windows leaves out, or as the short name of `.git`
 * there. Whoever writes such a name from elsewhere would write a hook that the next person who commits runs.
 */

/** What HFS+ leaves out of names. */
const LEFT_OUT = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/gu;
const SHORT = /^git~\d$/;
const GIT = ".git";

/** Most paths have nothing of such a name in them, and are many. */
const MAYBE = /git|chronicle|[^\p{ASCII}]/iu;

/** A path up to the `.git` in it, exactly so; `undefined`: there is none. */
export function gitFolderOf(path: WorkspacePath): WorkspacePath | undefined {
  const names = path.split("/");
  const at = names.indexOf(GIT);
  return at < 0 ? undefined : (names.slice(0, at + 1).join("/") as WorkspacePath);
}

/** Is one of the path's names such a name? Exactly `.git` is one, too. */
export function hasGitName(path: string): boolean {
  return MAYBE.test(path) && path.split("/").some(isGitName);
}

/** Is it such a name? */
export function isGitName(name: string): boolean {
  if (!MAYBE.test(name)) return false;
  const [bare = ""] = name.replaceAll(LEFT_OUT, "").split(":", 1);
  const folded = bare
    .replace(/[. ]+$/u, "")
    .toUpperCase()
    .toLowerCase();
  return folded === GIT || isStagingName(folded) || SHORT.test(folded);
}
