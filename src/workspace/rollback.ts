import type { RollbackOptions } from "../api/action-api.ts";
import type { RestoreShape } from "../api/shapes.ts";
import type { Change } from "../core/change.ts";
import { composeChanges, invert } from "../core/plan.ts";
import { isWithin, type WorkspacePath } from "../core/path.ts";
import type { BlockedPath } from "../worktree/worktree.ts";
import { findAction, type LoggedAction } from "./actions.ts";
import { capture, compare, readDisk } from "./capture.ts";
import type { Context } from "./context.ts";
import { changesBetween } from "./diff.ts";
import { refuseCompacted } from "./diff-action.ts";
import { interruptedNote, unfinished } from "./interrupted.ts";
import { makeable, operate, settle } from "./operate.ts";
import { changesOfAction } from "./own-changes.ts";
import { blocked } from "./restore.ts";
import { restoreOutside } from "./restore-outside.ts";
import { closeAbandoned } from "./session.ts";
import { changeShape, conflictShape, skippedShape } from "./shape.ts";

/**
 * The files of an action as they were before it, whoever changed them since; what is there now is captured first, and
 * `undo` brings it again. Paths outside of the workspace only where they are named.
 */
export async function rollback(context: Context, id: string, options: RollbackOptions = {}): Promise<RestoreShape> {
  const action = await findAction(context, id);
  const dryRun = options.dryRun === true;
  if (options.outside !== undefined && options.outside.length > 0)
    return restoreOutside(context, action, options.outside, { dryRun });
  await refuseCompacted(context, action);
  const finished = await beforehand(context, dryRun);
  const { changes, unknown } = await planRollback(context, action, dryRun);
  const shape = { undo_id: null, conflicts: [], finished, dry_run: dryRun };
  if (dryRun) return { ...shape, changes: changes.map(changeShape), skipped: unknown.map(skippedShape) };
  const done = await operate(context, {
    kind: "restore",
    summary: `rollback of ${action.summary}`,
    changes,
    onBlocked: options.force === true ? "skip" : "fail",
  });
  if (done.id === undefined && done.blocked.length > 0) throw blocked(done.blocked);
  const applied = new Set(done.applied);
  return {
    ...shape,
    changes: changes.filter((change) => applied.has(change.path)).map(changeShape),
    undo_id: done.id ?? null,
    skipped: [...unknown, ...done.blocked].map(skippedShape),
    conflicts: done.conflicts.map(conflictShape),
  };
}

async function beforehand(context: Context, dryRun: boolean): Promise<string[]> {
  if (dryRun) return (await unfinished(context)).map((one) => interruptedNote(one, "would first finish"));
  const finished = (await settle(context)).map((one) => interruptedNote(one, "finished"));
  await closeAbandoned(context);
  return finished;
}

interface Planned {
  readonly changes: Change[];
  /** Paths that could not be looked at before the action: they stay. */
  readonly unknown: BlockedPath[];
}

async function planRollback(context: Context, action: LoggedAction, dryRun: boolean): Promise<Planned> {
  const own = await ownPaths(context, action);
  const only = [...action.paths, ...own];
  const unrecorded = dryRun ? await pending(context, only) : await captured(context, only);
  const { seq } = await context.index.head();
  const recorded = await changesBetween(context, seq, action.fromSeq);
  const isMeant = ({ path }: Change): boolean => own.has(path) || action.paths.some((one) => isWithin(path, one));
  const wanted = composeChanges(invert(unrecorded), recorded).filter(isMeant);
  return leaveUnknown(action, await keepFolders(context, makeable(wanted), seq));
}

/** What the action itself changed, wherever that is: also the folders that had to be made for what it named. */
async function ownPaths(context: Context, action: LoggedAction): Promise<ReadonlySet<WorkspacePath>> {
  const { seq } = await context.index.head();
  const { changes } = await changesOfAction(context, action, action.toSeq ?? seq);
  return new Set(changes.map((change) => change.path));
}

async function captured(context: Context, only: readonly WorkspacePath[]): Promise<readonly Change[]> {
  await capture(context, { cause: "capture", only, named: true });
  return [];
}

async function pending(context: Context, only: readonly WorkspacePath[]): Promise<readonly Change[]> {
  return (await compare(context, await readDisk(context, { only, named: true, hashOnly: true }))).changes;
}

/** A folder that the action made goes only with all that it holds: what others put there since stays, and so does it. */
async function keepFolders(context: Context, changes: readonly Change[], seq: number): Promise<Change[]> {
  const gone = new Set(changes.filter((one) => one.after === undefined).map((one) => one.path));
  const kept = new Set<WorkspacePath>();
  for (const { path, before, after } of changes.toReversed()) {
    if (after !== undefined || before?.kind !== "dir") continue;
    const children = await context.index.childrenAt(path, seq);
    if (children.some((child) => !gone.has(child.path) || kept.has(child.path))) kept.add(path);
  }
  return changes.filter((one) => !kept.has(one.path));
}

/** Nothing is deleted of which it is not known that it was absent before the action. */
function leaveUnknown({ coverage }: LoggedAction, changes: readonly Change[]): Planned {
  const unknown: BlockedPath[] = [];
  const kept = changes.filter(({ path, after }) => {
    const unseen = coverage.omitted.some((one) => isWithin(path, one.path));
    if (after !== undefined || !unseen) return true;
    unknown.push({ path, reason: "changed", detail: "it could not be captured then, so it may have been there" });
    return false;
  });
  return { changes: kept, unknown };
}
