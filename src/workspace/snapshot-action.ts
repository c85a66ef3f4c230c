import type { ActionRequest } from "../api/action-api.ts";
import type { ActionShape } from "../api/action-shapes.ts";
import { actionRecordId, encodeAction, type ActionRecord, type BackedUpFile } from "../core/action-record.ts";
import { actionTargets, type ActionTargets } from "../core/action-targets.ts";
import { coverageOf, isMeant, type Omission } from "../core/coverage.ts";
import { ChronicleError } from "../core/errors.ts";
import type { EventDraft, Head } from "../core/event.ts";
import type { WorkspacePath } from "../core/path.ts";
import { abandoning, lookOf, OWNER_GONE, withoutOwner } from "./abandon-actions.ts";
import { filesBefore, receiptOf, unprotected } from "./action-files.ts";
import {
  actionOfEvent,
  actionShape,
  lastBegunHash,
  noteBegun,
  noteOpenAction,
  openActions,
  type LoggedAction,
} from "./actions.ts";
import { beginningOf } from "./agent-session.ts";
import { innermost, openBrackets, type Brackets } from "./brackets.ts";
import { capture, type Found } from "./capture.ts";
import { checkRequest, summaryOf } from "./check-action.ts";
import type { Context } from "./context.ts";
import { settle } from "./operate.ts";
import { backUpOutside, type OutsideDrafts } from "./outside.ts";
import { resolveTargets } from "./resolve-targets.ts";
import { refuseOverQuota } from "./quota.ts";
import { omissionShape, shownPath } from "./shape.ts";

const DEFAULT_ACTOR = "agent";

type Targets = Exclude<ActionTargets, { readonly kind: "none" }>;

/** What is known of an action before the disk is looked at. */
interface Asked {
  readonly id: string;
  readonly request: ActionRequest;
  readonly actor: string;
  readonly targets: Targets;
  readonly outside: OutsideDrafts;
  /** What a look at the declared paths alone could not take. */
  readonly omitted: readonly Omission[];
}

/**
 * Keeps what an action is about to destroy: its paths (or, where it may touch anything, the whole workspace) are captured,
 * and the same commit begins the action. Off the record nothing is looked at and nothing stored.
 */
export async function snapshotAction(context: Context, request: ActionRequest): Promise<ActionShape | null> {
  if (request.otr === true) return null;
  checkRequest(request);
  const folders = { roots: context.worktree.roots, home: context.outside.home };
  const named = actionTargets(request.type, request.payload ?? {}, folders);
  if (named.kind === "none") return null;
  refuseOverQuota(context);
  const targets = resolveTargets(context, named);
  await settle(context);
  using _lease = await context.blobs.lease();
  const id = context.newId();
  const actor = request.actor ?? DEFAULT_ACTOR;
  const outside = await backUpOutside(context, targets, { id, actor });
  const omitted = targets.kind === "workspace" ? await captureNamed(context, targets.paths) : [];
  const asked: Asked = { id, request, actor, targets, outside, omitted };
  const captured = await capture(context, {
    cause: "capture",
    ...(await whereToLook(context, asked)),
    also: (found) => beginning(context, asked, found),
  });
  const event = captured.also.find((one) => one.recordId === actionRecordId(id));
  if (event === undefined) return null;
  const action = actionOfEvent(event);
  noteOpenAction(context, action);
  noteBegun(context, action);
  return actionShape(action);
}

/** What a command or an unknown tool names may be kept out by a rule: a look at everything would not see it. */
async function captureNamed(context: Context, paths: readonly WorkspacePath[]): Promise<readonly Omission[]> {
  if (paths.length === 0) return [];
  return (await capture(context, { cause: "capture", only: paths, named: true })).coverage.omitted;
}

/** Everywhere, or at the action's paths and those of the actions that end because a new turn has begun. */
async function whereToLook(
  context: Context,
  { request, targets }: Asked,
): Promise<{ readonly only?: readonly WorkspacePath[]; readonly named?: true }> {
  if (targets.kind === "workspace") return {};
  const ending = lookOf(context, ofEarlierTurns(await openActions(context), request));
  return ending.only === undefined ? {} : { only: [...targets.paths, ...ending.only], named: true };
}

function ofEarlierTurns(actions: readonly LoggedAction[], { session, turn }: ActionRequest): LoggedAction[] {
  if (session === undefined || turn === undefined) return [];
  return actions.filter((one) => one.session === session && one.turn !== undefined && one.turn !== turn);
}

/** The events that begin the action behind what the capture found; none of it if there is nothing to keep. */
async function beginning(context: Context, asked: Asked, found: Found): Promise<EventDraft[]> {
  const { request, actor, targets, outside } = asked;
  const drafts = await endings(context, request, found);
  const files = await keptFiles(context, asked, found);
  const kept = files.length + keptOutside(request, outside) + outside.omitted.length;
  if (targets.kind === "paths" && kept === 0) return drafts;
  const omitted = [...asked.omitted, ...found.omitted, ...outside.omitted];
  const exposed = unprotected(targets.paths, [...asked.omitted, ...found.omitted]).concat(
    outside.omitted.filter((one) => !isMeant(one)),
  );
  if (exposed.length > 0 && request.onFailure !== "warn") throw notProtected(exposed);
  if (request.session !== undefined) {
    const at = { head: found.head, ahead: found.changes.length + drafts.length };
    const session = await beginningOf(context, { id: request.session, actor }, at);
    if (session !== undefined) drafts.push(session);
  }
  drafts.push(...outside.drafts);
  const fromSeq = found.head.seq + found.changes.length + drafts.length;
  const record = await recordOf(context, asked, { files, fromSeq, omitted, head: found.head });
  drafts.push({
    op: "upsert",
    recordId: actionRecordId(asked.id),
    record: encodeAction(record),
    recursionDepth: request.depth ?? 0,
  });
  return drafts;
}

/** Actions whose process is gone, and those of the session's earlier turns, are over. */
async function endings(context: Context, request: ActionRequest, found: Found): Promise<EventDraft[]> {
  const open = await openActions(context, found.head);
  const dead = withoutOwner(context, open);
  const earlier = ofEarlierTurns(open, request).filter((one) => !dead.includes(one));
  return [
    ...(await abandoning(context, dead, { found, reason: OWNER_GONE })),
    ...(await abandoning(context, earlier, { found, reason: "a new turn has begun" })),
  ];
}

/** What was there; a path that is not there only where the tool will make it. */
async function keptFiles(context: Context, { request, targets }: Asked, found: Found): Promise<BackedUpFile[]> {
  const files = await filesBefore(context, targets.paths, found);
  return request.type.startsWith("delete_") ? files.filter((file) => !file.absent) : files;
}

/** How much was there outside; a path that is not there counts only where the tool will make it. */
function keptOutside(request: ActionRequest, { drafts }: OutsideDrafts): number {
  if (!request.type.startsWith("delete_")) return drafts.length;
  return drafts.filter(({ record }) => record["state"] !== null).length;
}

interface Kept {
  readonly files: readonly BackedUpFile[];
  readonly fromSeq: number;
  readonly omitted: readonly Omission[];
  readonly head: Head;
}

async function recordOf(context: Context, asked: Asked, kept: Kept): Promise<ActionRecord> {
  const { request, actor, targets } = asked;
  const { session, turn, toolCall, pid } = request;
  const brackets = await openBrackets(context, kept.head);
  const transaction = transactionOf(brackets, request);
  const [run, otherRun] = brackets.runs;
  return {
    state: "open",
    type: request.type,
    summary: summaryOf(request, targets.paths, targets.outside),
    scope: targets.kind,
    paths: targets.paths,
    files: kept.files,
    outside: targets.outside,
    actor,
    ...(session === undefined ? {} : { session }),
    ...(turn === undefined ? {} : { turn }),
    ...(toolCall === undefined ? {} : { toolCall }),
    ...(transaction === undefined ? {} : { transaction }),
    ...(run === undefined || otherRun !== undefined ? {} : { run: run.id }),
    previous: await lastBegunHash(context, kept.head.seq),
    pid: pid === undefined ? context.processes.pid : pid,
    fromSeq: kept.fromSeq,
    pinned: false,
    coverage: coverageOf(receiptOf(targets.paths, kept.omitted)),
    started: new Date(context.now()).toISOString(),
    ended: null,
    changed: null,
  };
}

/** The transaction that was named, or the innermost one that is everybody's or the session's. Throws `NOT_FOUND`. */
function transactionOf({ transactions }: Brackets, { session, transaction }: ActionRequest): string | undefined {
  if (transaction === undefined) {
    const fitting = transactions.filter(({ record }) => record.session === undefined || record.session === session);
    return innermost(fitting).at(-1)?.id;
  }
  const named = transactions.find((one) => one.id === transaction);
  if (named !== undefined) return named.id;
  throw new ChronicleError("NOT_FOUND", `there is no active transaction ${JSON.stringify(transaction)}`, {
    hint: "`chronicle transaction list` shows them; leave it out to take the innermost one",
  });
}

function notProtected(exposed: readonly Omission[]): ChronicleError {
  const shown = exposed.slice(0, 5).map((one) => `${shownPath(one.path)} (${one.detail ?? one.reason})`);
  const more = exposed.length > shown.length ? ` and ${exposed.length - shown.length} more` : "";
  return new ChronicleError(
    "REFUSED",
    `the action is stopped, because this cannot be kept: ${shown.join(", ")}${more}`,
    {
      hint: 'make it readable, or raise the limit (`chronicle config`); with onFailure "warn" the tool runs unprotected',
      data: { coverage: { complete: false, omitted: exposed.map(omissionShape) } },
    },
  );
}
