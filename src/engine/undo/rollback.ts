import type { RollbackOptions } from "../../api/action-api.ts";
import type { RestoreShape } from "../../api/shapes.ts";
import type { Change } from "../../core/values/change.ts";
import { changeBetween, composeChanges, invert } from "../../core/tree/plan.ts";
import { comparePaths, isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { findAction, type LoggedAction } from "../facts/actions.ts";
import { finishedNotes } from "./before-change.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { changedShape, changeFiles, type FittedChanges } from "../capture/change-files.ts";
import type { Context } from "../log/context.ts";
import { changesBetween } from "../read/diff.ts";
import { refuseCompacted } from "../read/diff-action.ts";
import { fitFolders, type Target, type Unmerged } from "../capture/fit-folders.ts";
import { changesOfAction } from "../facts/changes-within.ts";
import { restoreOutside } from "./restore-outside.ts";
import { asideNotes } from "../capture/undo-aside.ts";

/**
 * The files of an action as they were before it, whoever changed them since; what is there now is captured first, and
 * `undo` brings it again. Paths outside of the workspace only where they are named.
 */
export async function rollback(
  context: Context,
  id: string,
  options: RollbackOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<RestoreShape> {
  const action = await findAction(context, id);
  const dryRun = options.dryRun === true;
  if (options.outside !== undefined && options.outside.length > 0)
    return restoreOutside(context, action, options.outside, { dryRun });
  await refuseCompacted(context, action);
  const finished = finishedNotes(before, dryRun);
  const own = await ownPaths(context, action);
  const look = { only: [...action.paths, ...own], named: true };
  const { force } = options;
  return changeFiles<RestoreShape>(context, { dryRun, force, look }, async (present) => ({
    kind: "restore",
    summary: `rollback of ${action.summary}`,
    wanted: composeChanges(invert(present.unrecorded), await changesBetween(context, present.seq, action.fromSeq)),
    isMeant: (path) => own.has(path) || action.paths.some((one) => isWithin(path, one)),
    back: () => ({ seqs: [action.fromSeq], action: action.id }),
    fit: (changes) => fitted(context, changes, present.unrecorded),
    brings: action.id,
    report: (done) => ({ ...changedShape(done), finished, notes: asideNotes(done.aside.applied, done) }),
  }));
}

/**
 * Returns the paths that the action itself changed, wherever they are, with the folders that had to be made for the
 * paths it named.
 */
async function ownPaths(context: Context, action: LoggedAction): Promise<ReadonlySet<WorkspacePath>> {
  const { seq } = await context.index.head();
  const { changes } = await changesOfAction(context, action, action.toSeq ?? seq);
  return new Set(changes.map((change) => change.path));
}

/** Adds the folders of paths that come back, and keeps a folder that holds a path that stays. */
async function fitted(
  context: Context,
  changes: readonly Change[],
  unrecorded: readonly Change[],
): Promise<FittedChanges> {
  const targets = new Map<WorkspacePath, Target>();
  for (const { path, before, after } of changes) targets.set(path, { present: before, target: after });
  const unmerged = new Map<WorkspacePath, Unmerged>();
  const pending = new Map(unrecorded.map((change) => [change.path, change]));
  const stayed = await fitFolders(context, { targets, unmerged, pending });
  const inTheWay = [...unmerged.keys()].map((path) => ({
    path,
    reason: "no-folder" as const,
    detail: "something else stands where its folder was, or in it",
  }));
  const fitting = [...targets].flatMap(([path, { present, target }]) => changeBetween(path, present, target) ?? []);
  return { changes: fitting.sort((x, y) => comparePaths(x.path, y.path)), skipped: [...stayed, ...inTheWay] };
}
