import type { RestoreShape, SkippedShape } from "../../api/shapes.ts";
import type { RestoreOptions } from "../../api/workspace-api.ts";
import type { Change, Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { isGitName } from "../../core/filter/git-name.ts";
import {
  childOf,
  comparePaths,
  foldersAbove,
  isWithin,
  parsePath,
  pathInRoot,
  splitRoot,
  type WorkspacePath,
} from "../../core/values/path.ts";
import { KEPT_BACK, secretError } from "../../core/shell/secret-error.ts";
import type { ApplyReport, ApplyRequest, BlockedPath, Worktree } from "../../worktree/worktree.ts";
import { madeWithout } from "./never-set.ts";
import { tellOfTimes } from "./operate.ts";
import { refused } from "./refused.ts";
import { changeShape, conflictShape, shownPath, skippedShape } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

export interface Filling {
  /**
   * Checks, without changing anything, whether the folder can be filled. Throws the errors that `target` would throw.
   */
  readonly look: () => Promise<void>;
  readonly missing?: readonly BlockedPath[];
  /**
   * Files whose contents the caller must not get. These files are left out and listed as skipped, with or without
   * `force`.
   */
  readonly withheld?: readonly WorkspacePath[];
  readonly target: () => Promise<Worktree>;
  readonly contents: ApplyRequest["contents"];
  readonly token: string;
  /** Called with notes about files whose times could not be restored exactly. */
  readonly tell?: ((note: string) => void) | undefined;
  /** `to` is the name of the folder that the answer shows. `paths` is not used here. */
  readonly options: RestoreOptions;
}

/**
 * Writes entries into a folder that does not belong to the workspace. Entries of a further root go into the folder
 * `@<root id>` within that folder. Throws `FORBIDDEN` if every file is withheld.
 */
export async function fillFolder(entries: readonly Entry[], filling: Filling): Promise<RestoreShape> {
  const { options, withheld = [] } = filling;
  const given = withoutPaths(entries, withheld);
  const [first] = withheld;
  if (first !== undefined && given.every(({ kind }) => kind === "dir")) throw secretError(shownPath(first));
  const all = given.map((after): Change => ({ path: after.path, before: undefined, after }));
  const shape = { undo_id: null, conflicts: [], finished: [], to: options.to ?? "" };
  const secrets = withheld.map((path) => skippedShape({ path, reason: "protected", detail: KEPT_BACK }));
  if (options.dryRun === true) {
    await filling.look();
    const { missing = [] } = filling;
    const left = new Set(missing.map(({ path }) => path));
    const there = sideBySide(all.filter(({ path }) => !left.has(path)));
    const skipped = [...secrets, ...[...missing, ...madeWithout(there)].map(skippedShape)];
    return { ...shape, changes: there.map(changeShape), skipped, dry_run: true };
  }
  const changes = sideBySide(all);
  const report = await filled(changes, filling);
  const applied = new Set(report.applied);
  const without = madeWithout(changes.filter(({ path }) => applied.has(path)));
  return {
    ...shape,
    changes: changes.filter((change) => applied.has(change.path)).map(changeShape),
    skipped: [...secrets, ...[...report.blocked, ...without].map(skippedShape)],
    conflicts: report.conflicts.map(conflictShape),
    dry_run: false,
  };
}

/** Fills the folder. Throws `REFUSED` if nothing could be written. Removes the staging files in any case. */
async function filled(changes: readonly Change[], filling: Filling): Promise<ApplyReport> {
  const { options, token, contents, target } = filling;
  const folder = await target();
  try {
    const report = await folder.apply({
      token,
      changes,
      contents,
      onBlocked: options.force === true ? "skip" : "fail",
      ...optional({ keepMtime: options.keepMtime }),
      onProgress: (done, total) => options.onProgress?.({ phase: "restore", done, total, unit: "paths" }),
    });
    if (report.applied.length === 0 && report.blocked.length > 0) throw refused(report.blocked);
    if (options.keepMtime === true) tellOfTimes(filling.tell, changes, report);
    return report;
  } finally {
    await cleanUpAndClose(folder, token);
  }
}

/** Removes the staging files, because a further attempt also needs an empty folder. Then closes the folder. */
async function cleanUpAndClose(folder: Worktree, token: string): Promise<void> {
  try {
    await folder.cleanUp(token);
  } finally {
    await folder.close();
  }
}

export function withoutPaths(entries: readonly Entry[], paths: readonly WorkspacePath[]): readonly Entry[] {
  if (paths.length === 0) return entries;
  const left = new Set(paths);
  return entries.filter(({ path }) => !left.has(path));
}

/**
 * Returns a test that accepts the paths in `paths`, all paths beneath them, and the folders above them. Without
 * `paths`, the test accepts every path.
 */
export function meantBy(paths: readonly WorkspacePath[] | undefined): (path: WorkspacePath) => boolean {
  if (paths === undefined || paths.length === 0) return () => true;
  const folders = new Set<WorkspacePath>(paths.flatMap((path) => [...foldersAbove(path)]));
  return (path) => folders.has(path) || paths.some((one) => isWithin(path, one));
}

export interface WithoutGit {
  readonly entries: readonly Entry[];
  readonly skipped: readonly SkippedShape[];
}

/**
 * Leaves out paths that would become a git repository's own state in the filled folder, including names that a file
 * system may equate with `.git`. A git hook from the history could otherwise run when a person commits in that folder.
 * Keeps paths that a person has named (`asked`), and paths that the rules make part of the workspace (`isTaken`).
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
  const detail = `this path would become a git repository's own state; to restore it nevertheless, name this path: ${shownPath(path)}`;
  return skippedShape({ path, reason: "git", detail });
}

/**
 * Returns a path up to the first name in it that may be `.git` (`a/.git/config` → `a/.git`). Returns `undefined` if
 * there is no such name.
 */
function gitTopOf(path: WorkspacePath): WorkspacePath | undefined {
  const { root, path: inner } = splitRoot(path);
  const names = inner.split("/");
  const at = names.findIndex(isGitName);
  return at < 0 ? undefined : pathInRoot(root, names.slice(0, at + 1).join("/") as WorkspacePath);
}

/** The mode of a folder that stands for a further root. */
const ROOT_MODE = 0o755;

/**
 * Adds a folder `@<root id>` for each further root, and moves the paths of that root into it. Throws `REFUSED` if the
 * first root has a path of that name.
 */
function sideBySide(changes: readonly Change[]): Change[] {
  const placed: Change[] = [];
  const folders = new Set<WorkspacePath>();
  for (const { path, after } of changes) {
    const { root, path: inner } = splitRoot(path);
    const folder = root === undefined ? undefined : parsePath(`@${root}`);
    if (folder !== undefined) folders.add(folder);
    const to = folder === undefined ? path : childOf(folder, inner);
    placed.push({ path: to, before: undefined, after: after && { ...after, path: to } });
  }
  const taken = changes.find((change) => folders.has(change.path));
  if (taken !== undefined) {
    throw new ChronicleError(
      "REFUSED",
      `${shownPath(taken.path)} has the name of the folder that a further root would get`,
      {
        hint: "restore the roots one after the other, by naming paths",
      },
    );
  }
  for (const path of folders) {
    const after = { path, kind: "dir" as const, mode: ROOT_MODE, size: 0, mtimeMs: 0, hash: undefined };
    placed.push({ path, before: undefined, after });
  }
  return placed.sort((a, b) => comparePaths(a.path, b.path));
}
