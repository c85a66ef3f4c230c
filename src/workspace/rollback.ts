import type { RollbackOptions } from "../api/action-api.ts";
import type { RestoreShape } from "../api/shapes.ts";
import type { Change } from "../core/change.ts";
import { changeBetween, composeChanges, invert } from "../core/plan.ts";
import { comparePaths, isWithin, type WorkspacePath } from "../core/path.ts";
import { findAction, type LoggedAction } from "./actions.ts";
import { type BeforeChange, finishedNotes, NOTHING_BEFORE } from "./before-change.ts";
import { capture } from "./capture.ts";
import { meanwhile } from "./changed-meanwhile.ts";
import type { Context } from "./context.ts";
import { wholeUnits } from "./database-units.ts";
import { changesBetween } from "./diff.ts";
import { refuseCompacted } from "./diff-action.ts";
import { fitFolders, type Target, type Unmerged } from "./fit-folders.ts";
import { makeable, operate } from "./operate.ts";
import { changesOfAction } from "./own-changes.ts";
import { compare, readDisk } from "./read-disk.ts";
import { blocked } from "./restore.ts";
import { restoreOutside } from "./restore-outside.ts";
import { leaveUnseen, type SkippedPath } from "./seen-absent.ts";
import { changeShape, conflictShape, skippedShape } from "./shape.ts";
import { bringBackAside } from "./undo-aside.ts";

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
  const { changes, unknown } = await planRollback(context, action, dryRun);
  const shape = { undo_id: null, conflicts: [], finished, dry_run: dryRun };
  if (dryRun) return { ...shape, changes: changes.map(changeShape), skipped: unknown.map(skippedShape) };
  const done = await operate(context, {
    kind: "restore",
    summary: `rollback of ${action.summary}`,
    changes,
    onBlocked: options.force === true ? "skip" : "skip-changed",
  });
  if (done.id === undefined && done.blocked.length > 0) throw blocked(meanwhile(done.blocked));
  const applied = new Set(done.applied);
  const aside = await bringBackAside(context, action);
  return {
    ...shape,
    changes: changes.filter((change) => applied.has(change.path)).map(changeShape),
    undo_id: done.id ?? null,
    skipped: [...unknown, ...meanwhile(done.blocked), ...aside.blocked].map(skippedShape),
    conflicts: done.conflicts.map(conflictShape),
  };
}

interface Planned {
  readonly changes: Change[];
  /** Paths that stay as they are: they could not be looked at before the action, or something holds them. */
  readonly unknown: SkippedPath[];
}

async function planRollback(context: Context, action: LoggedAction, dryRun: boolean): Promise<Planned> {
  const own = await ownPaths(context, action);
  const only = [...action.paths, ...own];
  const unrecorded = dryRun ? await pending(context, only) : await captured(context, only);
  const { seq } = await context.index.head();
  const recorded = await changesBetween(context, seq, action.fromSeq);
  const isMeant = (path: WorkspacePath): boolean => own.has(path) || action.paths.some((one) => isWithin(path, one));
  const wanted = await wholeUnits(context, composeChanges(invert(unrecorded), recorded), isMeant);
  const back = { seqs: [action.fromSeq], action: action.id };
  const known = await leaveUnseen(context, makeable(wanted), () => back);
  const planned = await fitted(context, known.changes, unrecorded);
  return { changes: planned.changes, unknown: [...known.unseen, ...planned.unknown] };
}

/** What the action itself changed, wherever that is: also the folders that had to be made for what it named. */
async function ownPaths(context: Context, action: LoggedAction): Promise<ReadonlySet<WorkspacePath>> {
  const { seq } = await context.index.head();
  const { changes } = await changesOfAction(context, action, action.toSeq ?? seq);
  return new Set(changes.map((change) => change.path));
}

async function captured(context: Context, only: readonly WorkspacePath[]): Promise<readonly Change[]> {
  await capture(context, { cause: "capture", only, named: true, reserve: true });
  return [];
}

async function pending(context: Context, only: readonly WorkspacePath[]): Promise<readonly Change[]> {
  return (await compare(context, await readDisk(context, { only, named: true, hashOnly: true }))).changes;
}

/** What comes back gets its folders back; a folder that holds what stays, stays. */
async function fitted(context: Context, changes: readonly Change[], unrecorded: readonly Change[]): Promise<Planned> {
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
  return { changes: fitting.sort((x, y) => comparePaths(x.path, y.path)), unknown: [...stayed, ...inTheWay] };
}
