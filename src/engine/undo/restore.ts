import type { RollbackOptions } from "../../api/action-api.ts";
import type { RestoreShape } from "../../api/shapes.ts";
import type { RestoreOptions } from "../../api/workspace-api.ts";
import type { Change } from "../../core/values/change.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { composeChanges, invert } from "../../core/tree/plan.ts";
import { isWithin, type WorkspacePath } from "../../core/values/path.ts";
import { findAction, type LoggedAction } from "../facts/actions.ts";
import { finishedNotes } from "./before-change.ts";
import { type BeforeChange, NOTHING_BEFORE } from "../capture/operation-queue.ts";
import { changedShape, changeFiles, type FilePlan, type Present } from "../capture/change-files.ts";
import type { Context } from "../log/context.ts";
import { changesBetween } from "../read/diff.ts";
import { refuseCompacted } from "../read/diff-action.ts";
import { changesOfAction } from "../facts/changes-within.ts";
import { knownPaths } from "../log/known-paths.ts";
import { resolveMoment, type ResolvedMoment } from "../read/moments.ts";
import { allOffRecord } from "../capture/off-record.ts";
import { restoreOutside } from "./restore-outside.ts";
import { unseenPath } from "../capture/seen-absent.ts";
import { asideNotes } from "../capture/undo-aside.ts";
import { unreadableNow } from "../capture/unreadable-now.ts";
import { optional } from "../../util/optional.ts";

/**
 * The plans that go back to a state of the history: `restore` takes everything or some paths to a moment, `rollback` the files of
 * an action to before it. Both find what is meant before the capture, since what the capture records is not meant.
 */

/** Brings files back to an earlier moment; what is there now is captured first, so that it can be undone. */
export async function restore(
  context: Context,
  text: string,
  options: RestoreOptions = {},
  before: BeforeChange = NOTHING_BEFORE,
): Promise<RestoreShape> {
  const moment = await resolveMoment(context, text);
  if (moment.now)
    throw new ChronicleError("USAGE", "`now` is what is there already", { hint: "name an earlier moment" });
  const finished = finishedNotes(before, options.dryRun === true);
  const how = { ...options, look: { absentRoot: "known" } } as const;
  return changeFiles<RestoreShape>(context, how, async (present) => ({
    ...(await wayTo(context, moment, { present, paths: options.paths })),
    kind: "restore",
    summary: `restore to ${moment.label}`,
    // The changes are those between two states, which are proved; the plan takes nothing else from the index.
    isProved: true,
    // The folders around what is named come back with it.
    ...(options.paths === undefined ? {} : { folders: "whole" }),
    ...optional({ keepMtime: options.keepMtime }),
    report: (done) => ({ ...changedShape(done), finished, seq: moment.seq }),
  }));
}

interface Wanted {
  readonly present: Present;
  readonly paths: RestoreOptions["paths"];
}

/** The part of the plan that depends on the moment and the paths. */
async function wayTo(
  context: Context,
  moment: ResolvedMoment,
  { present, paths }: Wanted,
): Promise<Pick<FilePlan<RestoreShape>, "wanted" | "isMeant" | "back" | "skipped">> {
  const meant = (await knownPaths(context, paths)) ?? [];
  const isMeant = (path: WorkspacePath): boolean => meant.length === 0 || meant.some((one) => isWithin(path, one));
  const action = await actionBegunBehind(context, moment.seq);
  const seqs = [moment.seq];
  // A path that is off the record differs from what is recorded, even if the recorded state is that of the moment.
  const offRecord = [...(await allOffRecord(context))].filter(([path]) => isMeant(path));
  const unreadable = await unreadableNow(context, { omitted: present.omitted, seq: moment.seq }, isMeant);
  return {
    wanted: await changesTo(context, moment.seq, present),
    isMeant,
    back: () => ({ seqs, action }),
    skipped: [...offRecord.map(([path, detail]) => unseenPath(path, detail)), ...unreadable],
  };
}

/** Returns the changes from the present state to that after event `seq`: unrecorded changes are taken back first. */
async function changesTo(context: Context, seq: number, present: Present): Promise<Change[]> {
  return composeChanges(invert(present.unrecorded), await changesBetween(context, present.seq, seq));
}

/** The action whose snapshot is the moment, or directly behind it: what it has looked at, it has looked at then. */
async function actionBegunBehind(context: Context, seq: number): Promise<string | undefined> {
  const rows = await context.index.events({ from: seq, to: seq + 1 });
  return rows.find((row) => row.open && row.recordId.startsWith("action:"))?.recordId.slice("action:".length);
}

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
  const { dryRun = false, force, outside = [] } = options;
  const action = await findAction(context, id);
  if (outside.length > 0) return restoreOutside(context, action, outside, { dryRun });
  await refuseCompacted(context, action);
  const finished = finishedNotes(before, dryRun);
  const own = await ownPaths(context, action);
  // Only the action's own paths are captured, also those that a filter keeps out since.
  const look = { only: [...action.paths, ...own], exact: true };
  return changeFiles<RestoreShape>(context, { dryRun, force, look }, async (present) => ({
    kind: "restore",
    summary: `rollback of ${action.summary}`,
    wanted: await changesTo(context, action.fromSeq, present),
    isMeant: (path) => own.has(path) || action.paths.some((one) => isWithin(path, one)),
    back: () => ({ seqs: [action.fromSeq], action: action.id }),
    // What others have put into the action's folders since is not asked about: such a folder stays, and the rest is done.
    folders: "part",
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
