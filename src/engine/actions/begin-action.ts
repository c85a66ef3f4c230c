import {
  type BackedUpFile,
  actionRecordId,
  encodeAction,
  type ActionRecord,
} from "../../core/records/action-record.ts";
import type { Aside } from "../../core/records/aside.ts";
import { isMeant, type Omission, coverageOf, reasonsWith } from "../../core/records/coverage.ts";
import { comparePaths, isWithin, parentOf, ROOT, splitRoot, type WorkspacePath } from "../../core/values/path.ts";
import type { Found } from "../capture/capture.ts";
import type { Context } from "../log/context.ts";
import type { ActionRequest } from "../../api/action-api.ts";
import type { ActionTargets } from "../../core/records/action-targets.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft, Head } from "../../core/values/event.ts";
import { addAll } from "../../util/long-lists.ts";
import { abandoning, withoutOwner } from "./abandon-actions.ts";
import { lastBegunHash, openActions, type LoggedAction } from "../facts/actions.ts";
import { beginningOf } from "./agent-session.ts";
import { type Brackets, goingOn, openBrackets } from "../facts/brackets.ts";
import { isGitState, outermost } from "../capture/git-state.ts";
import type { LeftOut } from "../capture/left-out.ts";
import { summaryOf } from "./check-action.ts";
import { Nesting, placeOf, type Place } from "../facts/nesting.ts";
import { ownerOf } from "../log/owner-process.ts";
import { keepOmittedList } from "../facts/omitted-changes.ts";
import type { OutsideDrafts } from "./outside.ts";
import { omissionShape, shownPath } from "../log/shape.ts";
import { optional } from "../../util/optional.ts";

/** The targets of an action that does more than read. */
type TouchedTargets = Exclude<ActionTargets, { readonly kind: "none" }>;

export interface AskedAction {
  readonly id: string;
  readonly request: ActionRequest;
  readonly actor: string;
  readonly targets: TouchedTargets;
  readonly outside: OutsideDrafts;
  /** The paths that the action touches and that captures leave out. */
  readonly leftOut: LeftOut;
  /** The state of the git repositories, for a command's action. Default: none. */
  readonly git?: Aside | undefined;
  /** The ids of the open actions in whose callbacks this action was asked for. */
  readonly around: readonly string[];
  /** True if nothing could be kept, but the tool will run nevertheless. */
  readonly isExposed?: true;
  /**
   * Called with the open action of the same tool call, if such an action exists. In that case, no other action is
   * begun.
   */
  readonly onOpen: (same: LoggedAction) => void;
}

/**
 * Returns those of `actions` that belong to other turns of the request's session. `endings` decides which of these
 * actions the new turn ends. Returns none for the request of a sub-agent. Such a request begins no turn, because a
 * sub-agent in the background continues the turn that started it.
 */
export function ofEarlierTurns(
  actions: readonly LoggedAction[],
  { session, turn, depth = 0 }: ActionRequest,
): LoggedAction[] {
  if (session === undefined || turn === undefined || depth > 0) return [];
  return actions.filter((one) => one.session === session && one.turn !== undefined && one.turn !== turn);
}

/**
 * Returns the events that abandon other actions (see `endings`), and the events that begin this action. The caller
 * appends all of them after the events of the capture. No action is begun if its scope is `paths` and there is nothing
 * to keep, or if an action of the same call is open. An exposed action (`isExposed`) is begun even if nothing is kept.
 *
 * Throws `REFUSED` if something cannot be kept, unless `onFailure` is `warn`. Throws `NOT_FOUND` if the request names a
 * transaction that is not open.
 */
export async function beginning(context: Context, asked: AskedAction, found: Found): Promise<EventDraft[]> {
  const { request, actor, targets, outside, leftOut } = asked;
  const drafts = await endings(context, asked, found);
  const files = await keptFiles(context, asked, found);
  const kept = files.length + keptOutside(request, outside) + outside.omitted.length + leftOut.kept.length;
  const inside = withoutKept([...leftOut.named, ...found.omitted, ...leftOut.exposed], asked);
  const omitted = [...inside, ...outside.omitted];
  const exposed = [
    ...unprotected(targets.paths, inside),
    ...leftOut.exposed,
    ...outside.omitted.filter((one) => !isMeant(one)),
  ];
  // An action is also recorded if it touches existing files of which nothing may be kept.
  const there = [...leftOut.named.filter(isExcluded), ...offRecordOf(targets.paths, found.omitted)];
  const isNothing = kept + exposed.length + there.length === 0;
  if (targets.kind === "paths" && isNothing && asked.isExposed !== true) return drafts;
  const same = await openCall(context, asked, found.head);
  if (same !== undefined) {
    asked.onOpen(same);
    return drafts;
  }
  if (exposed.length > 0 && request.onFailure !== "warn") throw notProtected(exposed);
  if (request.session !== undefined) {
    const at = { head: found.head, ahead: found.upTo - found.head.seq + drafts.length };
    const session = await beginningOf(context, { id: request.session, actor }, at);
    if (session !== undefined) drafts.push(session);
  }
  addAll(drafts, outside.drafts);
  const fromSeq = found.upTo + drafts.length;
  const place = await placeOfAction(context, asked, found.head);
  const record = await recordOf(context, asked, {
    files,
    fromSeq,
    omitted,
    seen: found.omitted,
    place,
    head: found.head,
  });
  drafts.push({
    op: "upsert",
    recordId: actionRecordId(asked.id),
    record: encodeAction(record),
    recursionDepth: place.depth + (request.depth ?? 0),
  });
  return drafts;
}

/**
 * Returns the open action of the same tool call, if the action's owner may still be at work. One call can be requested
 * twice: two installed hooks can report the call at the same time, or a caller that got no answer can ask again. An
 * action that is requested in the callback of another action is a different call.
 */
async function openCall(context: Context, asked: AskedAction, head: Head): Promise<LoggedAction | undefined> {
  const { request, actor, targets, around } = asked;
  const { session, turn, toolCall, type } = request;
  if (session === undefined || toolCall === undefined) return undefined;
  const is = [session, turn, toolCall, actor, type, targets.kind, summaryOf(context, request, targets)];
  const [same] = (await openActions(context, head)).filter((one) => {
    const its = [one.session, one.turn, one.toolCall, one.actor, one.type, one.scope, one.summary];
    return its.every((value, at) => value === is[at]) && !around.includes(one.id);
  });
  return same === undefined ? undefined : (await goingOn(context, [same]))[0];
}

/**
 * Returns the events that abandon the actions without an owner and the actions of earlier turns. A new turn does not
 * end the actions of the session's sub-agents.
 */
async function endings(context: Context, asked: AskedAction, found: Found): Promise<EventDraft[]> {
  const open = await openActions(context, found.head);
  const dead = await withoutOwner(context, open);
  const earlier = ofEarlierTurns(open, asked.request).filter((one) => !dead.includes(one));
  const depth =
    earlier.length === 0 ? 0 : (await placeIn(context, asked, await openBrackets(context, found.head))).depth;
  const over = earlier.filter((one) => one.recursionDepth <= depth);
  return [
    ...(await abandoning(context, dead, { found })),
    ...(await abandoning(context, over, { found, reason: "a new turn has begun" })),
  ];
}

function isExcluded({ reason }: Omission): boolean {
  return reason === "excluded";
}

/** Returns the omissions, except for excluded paths that were kept aside and excluded folders above the targets. */
function withoutKept(omitted: readonly Omission[], { targets, leftOut }: AskedAction): Omission[] {
  const kept = new Set(leftOut.kept.map(({ path }) => path));
  const isAbove = (path: WorkspacePath): boolean => targets.paths.some((one) => one !== path && isWithin(one, path));
  return omitted.filter((one) => !isExcluded(one) || !(kept.has(one.path) || isAbove(one.path)));
}

/**
 * Returns the paths whose states are kept for the action. Absent paths are included unless the tool only deletes. A
 * folder that is kept aside with everything beneath it is listed as one path, with iteration 0.
 */
async function keptFiles(context: Context, asked: AskedAction, found: Found): Promise<BackedUpFile[]> {
  const { request, targets, leftOut } = asked;
  if (asked.isExposed === true) return [];
  const omitted = [...leftOut.named, ...found.omitted];
  const left = new Set(omitted.filter(isExcluded).map(({ path }) => path));
  const paths = targets.paths.filter((path) => !left.has(path));
  const files = withoutLeftOut(await filesBefore(context, paths, found), omitted);
  const wanted = request.type.startsWith("delete_") ? files.filter((file) => !file.absent) : files;
  const ignored = leftOut.kept.filter((one) => !isGitState(one));
  const aside = outermost(ignored.map(({ path }) => path)).map((path) => ({ path, iteration: 0, absent: false }));
  return [...wanted, ...aside].sort((a, b) => comparePaths(a.path, b.path));
}

/** Returns the number of kept states of outside paths. Absent paths are included unless the tool only deletes. */
function keptOutside(request: ActionRequest, { drafts }: OutsideDrafts): number {
  if (!request.type.startsWith("delete_")) return drafts.length;
  return drafts.filter(({ record }) => record["state"] !== null).length;
}

interface Kept {
  readonly files: readonly BackedUpFile[];
  readonly fromSeq: number;
  readonly omitted: readonly Omission[];
  readonly place: Place;
  /** The paths that the scan of the capture omitted. */
  readonly seen: readonly Omission[];
  readonly head: Head;
}

/**
 * Returns the place of the action among the open brackets. Throws `NOT_FOUND` if the transaction that the request names
 * is not open.
 */
async function placeOfAction(context: Context, asked: AskedAction, head: Head): Promise<Place> {
  const brackets = await openBrackets(context, head);
  const place = await placeIn(context, asked, brackets);
  const { transaction } = asked.request;
  if (transaction === undefined) return place;
  return { ...place, within: { ...place.within, transaction: namedTransaction(brackets, transaction) } };
}

async function placeIn(context: Context, { request, around }: AskedAction, brackets: Brackets): Promise<Place> {
  const pid = request.pid === undefined ? context.processes.pid : request.pid;
  const nesting = await Nesting.of(context, brackets);
  return placeOf(context, nesting, { pid, session: request.session, within: around, guess: true });
}

async function recordOf(context: Context, asked: AskedAction, kept: Kept): Promise<ActionRecord> {
  const { request, actor, targets, leftOut } = asked;
  const { session, turn, toolCall, pid } = request;
  const seen = targets.kind === "workspace" ? kept.seen : [];
  const listed = asked.isExposed === true ? [] : [...seen, ...leftOut.named];
  const omittedBefore = await keepOmittedList(context, listed);
  return {
    state: "open",
    type: request.type,
    summary: summaryOf(context, request, targets),
    scope: targets.kind,
    paths: targets.paths,
    files: kept.files,
    missing: asked.isExposed === true ? [] : await missingAbove(context, kept.files),
    // Outside paths that a remote caller names are not on this machine, so they are not recorded.
    outside: context.outside.isClosed === true ? [] : targets.outside,
    actor,
    ...optional({ session, turn, toolCall }),
    ...kept.place.within,
    previous: await lastBegunHash(context, kept.head.seq),
    ...ownerOf(context, pid),
    fromSeq: kept.fromSeq,
    pinned: false,
    coverage: coverageOf(receiptOf(targets.paths, kept.omitted)),
    started: new Date(context.now()).toISOString(),
    ended: null,
    changed: null,
    ...optional({ omittedBefore, aside: leftOut.aside, git: asked.git }),
    omittedChanges: [],
  };
}

function namedTransaction({ transactions }: Brackets, id: string): string {
  if (transactions.some((one) => one.id === id)) return id;
  throw new ChronicleError("NOT_FOUND", `there is no active transaction ${JSON.stringify(id)}`, {
    hint: "`chronicle transaction list` shows the active transactions; leave out the id to use the innermost one",
  });
}

/** Returns a text for a hint that says where to raise the limits that these reasons name. */
function limitsAt(reasons: readonly string[]): string {
  const isBudget = reasons.some((one) => one.includes("max_private_bytes"));
  return isBudget ? "max_private_bytes in the config.yaml that `chronicle config` names" : "`chronicle config`";
}

function notProtected(exposed: readonly Omission[]): ChronicleError {
  const each = [...new Map(exposed.map((one) => [`${one.path}\0${one.reason}`, one])).values()];
  const shown = each.slice(0, 5).map((one) => `${shownPath(one.path)} (${one.detail ?? one.reason})`);
  const more = each.length > shown.length ? ` and ${each.length - shown.length} more` : "";
  return new ChronicleError(
    "REFUSED",
    `the action was stopped, because these paths cannot be kept: ${shown.join(", ")}${more}`,
    {
      hint: `make these paths readable, or raise the limit that is named (${limitsAt(shown)}); with onFailure "warn", the tool runs although their states are not kept`,
      data: { coverage: { complete: false, omitted: each.map(omissionShape) } },
    },
  );
}

/**
 * The maximum number of paths that a record lists in `files`. If there are more paths, only the declared paths are
 * listed, even if their number exceeds this maximum. The states beneath the declared paths can still be read from the
 * history, as of `from_seq`.
 */
const MOST_LISTED = 20_000;

/**
 * Returns the states that these paths have after the capture, and those of everything beneath the folders among these
 * paths. If there are more than `MOST_LISTED` states, returns only those of the paths themselves.
 */
async function filesBefore(
  context: Context,
  paths: readonly WorkspacePath[],
  { head, changes }: Found,
): Promise<BackedUpFile[]> {
  const files = new Map<WorkspacePath, BackedUpFile>();
  const rows = await context.index.iterationsAt(paths, head.seq);
  for (const [i, path] of paths.entries()) {
    const row = rows[i];
    files.set(path, { path, iteration: row?.iteration ?? 0, absent: row?.entry === undefined });
    if (row?.entry?.kind === "dir") await listBeneath(context, { folder: path, seq: head.seq }, files);
  }
  for (const { path, after, iteration } of changes) {
    if (!paths.some((one) => isWithin(path, one))) continue;
    // A path that the capture found deleted was deleted before the action began. Such a path is listed as absent only
    // if it is a declared path.
    if (after === undefined && !paths.includes(path)) files.delete(path);
    else files.set(path, { path, iteration, absent: after === undefined });
  }
  const listed = [...files.values()].sort((a, b) => comparePaths(a.path, b.path));
  return listed.length <= MOST_LISTED ? listed : listed.filter((file) => paths.includes(file.path));
}

async function listBeneath(
  context: Context,
  { folder, seq }: { readonly folder: WorkspacePath; readonly seq: number },
  files: Map<WorkspacePath, BackedUpFile>,
): Promise<void> {
  for await (const rows of context.index.entriesAt(seq, folder)) {
    for (const { path, iteration } of rows) files.set(path, { path, iteration, absent: false });
    if (files.size > 2 * MOST_LISTED) return;
  }
}

const NOT_READ = reasonsWith("notRead");

/**
 * Returns the files, except for two kinds: files that the capture did not read, and absent files in folders in which a
 * limit left out new paths. The history may have an older state of a file that was not read, but this older state is no
 * backup of the file's present state.
 */
function withoutLeftOut(files: readonly BackedUpFile[], omitted: readonly Omission[]): BackedUpFile[] {
  const left = omitted.filter(({ reason }) => NOT_READ.has(reason)).map(({ path }) => path);
  // In these folders, a limit left out new paths. Therefore, a path can exist although it is not recorded.
  const full = new Set(omitted.filter(({ reason }) => reason === "over-limit").map(({ path }) => path));
  return files.filter(
    ({ path, absent }) => !left.some((one) => isWithin(path, one)) && !(absent && full.has(parentOf(path))),
  );
}

/** Returns those folders above absent files that are themselves absent on disk, sorted by path. */
async function missingAbove(context: Context, files: readonly BackedUpFile[]): Promise<WorkspacePath[]> {
  const missing = new Set<WorkspacePath>();
  for (const { path, absent } of files) {
    if (!absent) continue;
    for (let folder = parentOf(path); splitRoot(folder).path !== ROOT; folder = parentOf(folder)) {
      if (missing.has(folder) || (await context.worktree.inspect(folder)) !== undefined) break;
      missing.add(folder);
    }
  }
  return [...missing].sort(comparePaths);
}

/**
 * Returns the omissions that prevent states of declared paths from being kept. Such an omission is at, beneath or above
 * a declared path.
 */
function unprotected(paths: readonly WorkspacePath[], omitted: readonly Omission[]): Omission[] {
  return omitted.filter(
    (one) =>
      (!isMeant(one) || one.reason === "store" || one.reason === "other-device") &&
      paths.some((path) => isWithin(one.path, path) || isWithin(path, one.path)),
  );
}

/**
 * Returns the off-the-record omissions at, beneath or above declared paths. Such files exist, but nothing of
 * them may be kept.
 */
function offRecordOf(paths: readonly WorkspacePath[], omitted: readonly Omission[]): Omission[] {
  return omitted.filter(
    (one) => one.reason === "off-record" && paths.some((path) => isWithin(one.path, path) || isWithin(path, one.path)),
  );
}

/** Returns the omissions that concern the action's paths, and all others that leave the capture incomplete. */
function receiptOf(paths: readonly WorkspacePath[], omitted: readonly Omission[]): Omission[] {
  const kept = new Map<string, Omission>();
  for (const one of omitted) {
    const concerns = paths.some((path) => isWithin(one.path, path) || isWithin(path, one.path));
    if (concerns || !isMeant(one)) kept.set(`${one.path}\0${one.reason}`, one);
  }
  return [...kept.values()];
}
