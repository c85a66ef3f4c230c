import type { RestoreShape } from "../api/shapes.ts";
import type { RestoreOptions } from "../api/workspace-api.ts";
import type { Change } from "../core/change.ts";
import type { Entry } from "../core/entry.ts";
import { ChronicleError } from "../core/errors.ts";
import {
  childOf,
  comparePaths,
  foldersAbove,
  isWithin,
  parsePath,
  splitRoot,
  type WorkspacePath,
} from "../core/path.ts";
import type { ApplyRequest, BlockedPath, Worktree } from "../worktree/worktree.ts";
import { refused } from "./change-files.ts";
import { changeShape, conflictShape, shownPath, skippedShape } from "./shape.ts";

/** Where a folder's files come from, and how it is filled. */
export interface Filling {
  /** Throws as `target` would where the folder cannot be filled, and changes nothing. */
  readonly look: () => Promise<void>;
  /** Paths whose contents are known not to be there. */
  readonly missing?: readonly BlockedPath[];
  /** An empty folder. */
  readonly target: () => Promise<Worktree>;
  readonly contents: ApplyRequest["contents"];
  readonly token: string;
  /** `to`: the folder, as it is told. Paths are not looked at here. */
  readonly options: RestoreOptions;
}

/**
 * Fills an empty folder with these entries. What lies in a further root goes into a folder of its own there, `@<root id>`.
 */
export async function fillFolder(entries: readonly Entry[], filling: Filling): Promise<RestoreShape> {
  const { options, token, contents } = filling;
  const all = entries.map((after): Change => ({ path: after.path, before: undefined, after }));
  const changes = sideBySide(all);
  const shape = { undo_id: null, conflicts: [], finished: [], to: options.to ?? "" };
  if (options.dryRun === true) {
    await filling.look();
    const { missing = [] } = filling;
    const left = new Set(missing.map(({ path }) => path));
    const there = sideBySide(all.filter(({ path }) => !left.has(path)));
    return { ...shape, changes: there.map(changeShape), skipped: missing.map(skippedShape), dry_run: true };
  }
  const target = await filling.target();
  try {
    const report = await target.apply({
      token,
      changes,
      contents,
      onBlocked: options.force === true ? "skip" : "fail",
      ...(options.keepMtime === undefined ? {} : { keepMtime: options.keepMtime }),
      onProgress: (done, total) => options.onProgress?.({ phase: "restore", done, total, unit: "paths" }),
    });
    if (report.applied.length === 0 && report.blocked.length > 0) throw refused(report.blocked);
    await target.cleanUp(token);
    const applied = new Set(report.applied);
    return {
      ...shape,
      changes: changes.filter((change) => applied.has(change.path)).map(changeShape),
      skipped: report.blocked.map(skippedShape),
      conflicts: report.conflicts.map(conflictShape),
      dry_run: false,
    };
  } finally {
    await target.close();
  }
}

/** Says of a path whether it is one of these, beneath one, or a folder on the way to one. None: all are meant. */
export function meantBy(paths: readonly WorkspacePath[] | undefined): (path: WorkspacePath) => boolean {
  if (paths === undefined || paths.length === 0) return () => true;
  const folders = new Set<WorkspacePath>(paths.flatMap((path) => [...foldersAbove(path)]));
  return (path) => folders.has(path) || paths.some((one) => isWithin(path, one));
}

/** The mode of a folder that stands for a further root. */
const ROOT_MODE = 0o755;

/** Further roots as folders beside what the first root holds. Throws `REFUSED` where such a name is taken. */
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
    throw new ChronicleError("REFUSED", `${shownPath(taken.path)} stands where a further root would be put`, {
      hint: "restore the roots one after the other, by naming paths",
    });
  }
  for (const path of folders) {
    const after = { path, kind: "dir" as const, mode: ROOT_MODE, size: 0, mtimeMs: 0, hash: undefined };
    placed.push({ path, before: undefined, after });
  }
  return placed.sort((a, b) => comparePaths(a.path, b.path));
}
