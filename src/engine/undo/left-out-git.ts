import type { SkippedShape } from "../../api/shapes.ts";
import type { Entry } from "../../core/values/entry.ts";
import { isGitName } from "../../core/filter/git-name.ts";
import { isWithin, pathInRoot, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import { shownPath, skippedShape } from "../log/shape.ts";

/** The entries that fill a new folder, and those that are left out. */
export interface WithoutGit {
  readonly entries: readonly Entry[];
  readonly skipped: readonly SkippedShape[];
}

/**
 * Leaves out what git, or a file system that takes another name for `.git`, would take for a repository's own state: a hook
 * that somebody has written into the history would be run by the next person who commits in that folder. A person has it by
 * naming it (`asked`). `isTaken`: is this one part of the workspace by its rules?
 */
export async function withoutGit(
  entries: readonly Entry[],
  asked: readonly WorkspacePath[] | undefined,
  isTaken: (path: WorkspacePath) => Promise<boolean>,
): Promise<WithoutGit> {
  const named = (asked ?? []).filter((path) => gitTopOf(path) !== undefined);
  const left = new Set<WorkspacePath>();
  const kept: Entry[] = [];
  for (const entry of entries) {
    const top = gitTopOf(entry.path);
    const isMeant = top === undefined || named.some((path) => isWithin(entry.path, path) || isWithin(path, entry.path));
    if (isMeant || (await isTaken(entry.path))) kept.push(entry);
    else left.add(top);
  }
  return { entries: kept, skipped: [...left].map(leftOut) };
}

function leftOut(path: WorkspacePath): SkippedShape {
  const detail = `it would be a git repository's own state there: name it to have it (${shownPath(path)})`;
  return skippedShape({ path, reason: "git", detail });
}

/** A path up to the first such name in it. */
function gitTopOf(path: WorkspacePath): WorkspacePath | undefined {
  const { root, path: inner } = splitRoot(path);
  const names = inner.split("/");
  const at = names.findIndex(isGitName);
  return at < 0 ? undefined : pathInRoot(root, names.slice(0, at + 1).join("/") as WorkspacePath);
}
