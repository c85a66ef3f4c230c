import type { ActionRequest } from "../../api/action-api.ts";
import type { ActionShape } from "../../api/action-shapes.ts";
import { actionRecordId } from "../../core/records/action-record.ts";
import type { SealedEvent } from "../../core/values/event.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { lookOf } from "./abandon-actions.ts";
import {
  actionOfEvent,
  actionShape,
  type LoggedAction,
  noteBegun,
  noteOpenAction,
  openActions,
} from "../facts/actions.ts";
import { beginning, ofEarlierTurns, type AskedAction } from "./begin-action.ts";
import { capture } from "../capture/capture.ts";
import { checkRequest } from "./check-action.ts";
import { targetsFor, backUpOutside } from "./outside.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { refuseOverQuota, type QuotaOptions } from "../log/quota.ts";
import { allOmitted, isNoRoomOrTrouble } from "../facts/recorded-coverage.ts";
import { resolveTargets } from "../log/known-paths.ts";
import { keepGit, withNewRepositories } from "../capture/git-work.ts";
import { keepLeftOut, NOTHING_LEFT_OUT } from "../capture/left-out.ts";

const DEFAULT_ACTOR = "agent";

interface SnapshotOptions extends QuotaOptions {
  /** The ids of the open actions in whose callbacks this action was requested. */
  readonly around?: readonly string[];
}

/** An action that was asked for, before anything is kept for it. */
interface UnkeptAction extends Omit<AskedAction, "outside" | "leftOut"> {
  readonly quota: QuotaOptions;
}

/**
 * Keeps the states that an action is about to change. Captures the action's paths, or the whole workspace if the action
 * may touch anything, and begins the action in the same commit. Returns the action. If an action of the same tool call
 * is already open, returns that action, and begins no second one.
 *
 * Returns `null`, and begins no action, in three cases:
 * - The request is off the record. In this case, nothing is scanned or stored.
 * - The tool only reads.
 * - The tool touches only certain paths, and there is nothing to keep at these paths.
 */
export async function snapshotAction(
  context: Context,
  request: ActionRequest,
  { around = [], ...quota }: SnapshotOptions = {},
): Promise<ActionShape | null> {
  if (request.otr === true) return null;
  checkRequest(request);
  const named = targetsFor(context, request.type, request.payload ?? {});
  if (named.kind === "none") return null;
  const targets = resolveTargets(context, named);
  let same: LoggedAction | undefined;
  const onOpen = (open: LoggedAction): void => void (same = open);
  const actor = request.actor ?? DEFAULT_ACTOR;
  const unkept: UnkeptAction = { id: context.newId(), request, actor, targets, around, onOpen, quota };
  const events = await keepAndBegin(context, unkept).catch((error: unknown) => {
    if (request.onFailure !== "warn" || !isNoRoomOrTrouble(error)) throw error;
    return beginExposed(context, unkept, error);
  });
  const event = events.find((one) => one.recordId === actionRecordId(unkept.id));
  if (event === undefined) return same === undefined ? null : actionShape(same);
  const action = actionOfEvent(event);
  noteOpenAction(context, action);
  noteBegun(context, action);
  return actionShape(action);
}

async function keepAndBegin(context: Context, unkept: UnkeptAction): Promise<readonly SealedEvent[]> {
  const { id, actor, targets, quota } = unkept;
  refuseOverQuota(context, 0, quota);
  using _lease = await context.blobs.lease();
  const leftOut = await keepLeftOut(context, targets, quota);
  const whole = unkept.request.onFailure !== "warn";
  const outside = await backUpOutside(context, { ...targets, whole, quota }, { id, actor });
  const before = targets.kind === "workspace" ? await keepGit(context) : undefined;
  const begun: AskedAction = { ...unkept, outside, leftOut };
  const captured = await capture(context, {
    cause: "capture",
    isReported: true,
    ...quota,
    ...(await whereToLook(context, begun)),
    also: async (found) => {
      // The capture finds the repositories that were made since the previous capture.
      const { git } = before === undefined ? {} : await withNewRepositories(context, before);
      return beginning(context, { ...begun, git }, found);
    },
  });
  return captured.also;
}

/**
 * Returns the paths that the capture must scan; `{}` means all paths. The paths include those of actions that end
 * because a new turn has begun.
 */
async function whereToLook(
  context: Context,
  { request, targets }: AskedAction,
): Promise<{ readonly only?: readonly WorkspacePath[]; readonly exact?: true }> {
  if (targets.kind === "workspace") return {};
  const ending = await lookOf(context, ofEarlierTurns(await openActions(context), request));
  return ending.only === undefined ? {} : { only: [...targets.paths, ...ending.only], exact: true };
}

/**
 * Begins an action for which nothing could be kept and whose tool runs nevertheless. The action's coverage lists its
 * paths as omitted.
 */
async function beginExposed(context: Context, unkept: UnkeptAction, error: unknown): Promise<readonly SealedEvent[]> {
  const { paths, outside, kind } = unkept.targets;
  const named = allOmitted(context, { paths, outside, scope: kind }, error);
  const leftOut = { ...NOTHING_LEFT_OUT, named };
  const asked: AskedAction = { ...unkept, outside: { drafts: [], omitted: [] }, leftOut, isExposed: true };
  using _lease = await context.blobs.lease();
  return await withCommit(context, async (commit) => {
    const head = await commit.head();
    return commit.append(
      await beginning(context, asked, { head, changes: [], omitted: [], changesTo: head.seq, upTo: head.seq }),
    );
  });
}
