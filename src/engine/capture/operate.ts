import { type Change, isKeptTime } from "../../core/values/entry.ts";
import { invert, decodePlan, encodePlan } from "../../core/tree/plan.ts";
import { decodeIntent, intentOfRequest, type IntentRecord, MAX_STAYED } from "../../core/records/records.ts";
import { type Context, isHosted } from "../log/context.ts";
import { ownChanges } from "../facts/own-changes.ts";
import { readEvent } from "../log/read-events.ts";
import { memoKey } from "../log/memo.ts";
import type { Progress } from "../../api/workspace-api.ts";
import { type Aside, ASIDE_MS } from "../../core/records/aside.ts";
import type { GitChange } from "../../core/records/git-record.ts";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { UpstreamChange } from "../../core/tree/upstream-change.ts";
import type { ApplyReport, ApplyRequest, BlockedPath, CheckReport, OnBlocked } from "../../worktree/worktree.ts";
import { openRows } from "../facts/actions.ts";
import { type Commit, withCommit } from "../commit/commit.ts";
import {
  type DatabaseUnits,
  databaseUnits,
  dropDerived,
  NO_UNITS,
  openDatabases,
  unitsAmong,
  warnOfOpenDatabases,
  withoutStill,
} from "../log/database-units.ts";
import { closing, doneDrafts, opening } from "../commit/operation-drafts.ts";
import { refusePrunedContents } from "../facts/pruning.ts";
import { RequestMeanwhile } from "../facts/taken-ids.ts";
import { shownPath } from "../log/shape.ts";
import { NEVER_SET } from "./never-set.ts";
import type { SkippedPath } from "./seen-absent.ts";
import { applyGitOf, gitOfStep, type GitStep, keepGitStep, NO_GIT_DONE, withoutFiles } from "./undo-git.ts";
import { asideOfIntent, asideOfStep, type AsideReport, NOTHING_ASIDE, splitAside } from "./undo-aside.ts";
import { optional } from "../../util/optional.ts";
import { addAll } from "../../util/long-lists.ts";
import { reportOn, roundsOf, roundToken } from "./write-rounds.ts";
import { withBatch } from "../../storage/blob-store.ts";
import { answer } from "../log/answer.ts";

/**
 * Every write of the engine to the worktree has three steps:
 *
 * 1. The engine records a durable intent in the log.
 * 2. The engine changes the files.
 * 3. One commit records what was done, and closes the intent.
 *
 * After a crash, `settle` finishes an open intent before anything else is changed.
 */

/** An operation that changes files: its plan, and the fields of its intent record. */
export interface Operation {
  readonly kind: IntentRecord["kind"];
  readonly summary: string;
  readonly changes: readonly Change[];
  /** The SQLite databases among the changes. The files of a database change together or not at all. */
  readonly units?: DatabaseUnits;
  /** Only for undo and redo: the id of the operation that is undone or redone. */
  readonly target?: string;
  /** Only for an undo by selection: the selection, and the work that the undo inverts. */
  readonly selective?: Pick<IntentRecord, "selection" | "takes" | "passes" | "took" | "met" | "left" | "parts">;
  /** The paths that the undo of a whole operation leaves alone. */
  readonly left?: readonly WorkspacePath[];
  /** The paths that the plan leaves alone, with reasons. */
  readonly skipped?: readonly SkippedPath[];
  /**
   * Only for a rollback: the id of the action that is undone. The changes of this action to kept-aside paths are undone
   * as well.
   */
  readonly brings?: string;
  /** Hashes of stored contents that the changes need and that no record refers to yet. */
  readonly contents?: readonly Hash[];
  /** Returns the conflicts to record in the commit that closes the intent. `id`: the intent's id. */
  readonly conflicts?: (id: string) => readonly IdentifiedConflict[];
  /** Paths whose states are proposed to the origin when the intent is closed. */
  readonly proposals?: readonly WorkspacePath[];
  /** The treatment of paths that cannot be changed (see `ApplyRequest`). */
  readonly onBlocked: OnBlocked;
  readonly keepMtime?: boolean;
  readonly onProgress?: (progress: Progress) => void;
}

export interface OperationReport extends ApplyReport {
  /** The intent's id, which `undo` accepts. `undefined` if nothing was recorded, or nothing could be changed. */
  readonly id: string | undefined;
  /**
   * The changes that the operation made to kept-aside paths, and the kept-aside paths that it left alone. A repository
   * whose git state was left alone is one of the paths left alone.
   */
  readonly aside: AsideReport;
  /** The changes that the operation made to the git state of repositories. */
  readonly git: readonly GitChange[];
}

/**
 * Carries out an operation. The caller must have captured the `before` states of the changes, and must have checked
 * them against the log.
 */
export async function operate(context: Context, operation: Operation): Promise<OperationReport> {
  const { request } = context.caller;
  const id = request === undefined ? context.newId() : intentOfRequest(request.id);
  const conflicts = operation.conflicts?.(id) ?? [];
  // An undo that changes nothing is also recorded, so that the next undo goes further back.
  const isNamed = operation.target !== undefined || operation.selective !== undefined;
  const isProposal = operation.proposals !== undefined;
  using _lease = await context.blobs.lease();
  const { aside, blocked: besides } = await asideOf(context, operation);
  const step = await gitOfOperation(context, operation, operation.changes);
  const git = await keepGitStep(context, step.changes);
  const blocked = [...besides, ...step.blocked];
  const isNothing =
    operation.changes.length === 0 && conflicts.length === 0 && aside === undefined && git === undefined;
  if (isNothing && !isNamed && !isProposal)
    return { id: undefined, applied: [], blocked: [], conflicts: [], git: [], aside: { ...NOTHING_ASIDE, blocked } };
  if (operation.onBlocked !== "skip") await refusePrunedContents(context, operation.changes);
  const plan = await keepPlan(context, operation.changes);
  return await withCommit(context, async (commit) => {
    const head = await commit.head();
    if (request !== undefined && (await isBegun(context, id))) throw new RequestMeanwhile(request.id);
    const intent: IntentRecord = {
      kind: operation.kind,
      state: "open",
      summary: operation.summary.toWellFormed(),
      actor: context.caller.actor,
      ...optional({ client: context.caller.client?.toWellFormed() }),
      ...processOf(context, operation),
      started: new Date(context.now()).toISOString(),
      plan,
      paths: operation.changes.length,
      fromSeq: head.seq,
      ...optional({ target: operation.target }),
      ...operation.selective,
      ...(operation.left === undefined || operation.left.length === 0 ? {} : { left: operation.left }),
      ...optional({ aside, git }),
      ...(aside === undefined || operation.brings === undefined ? {} : { brings: operation.brings }),
      ...optional({ contents: operation.contents }),
      ...(conflicts.length === 0 ? {} : { conflicts }),
      ...optional({ proposals: operation.proposals }),
      ...(request === undefined
        ? {}
        : { request: request.id, asked: request.asked, stayed: operation.skipped?.slice(0, MAX_STAYED) ?? [] }),
    };
    const done = await perform(context, commit, { id, intent, operation });
    return { ...done, aside: { ...done.aside, blocked: [...blocked, ...done.aside.blocked] } };
  });
}

/** Returns true if the log has an intent with this id that was not abandoned. */
async function isBegun(context: Context, id: string): Promise<boolean> {
  const row = await context.index.record(`intent:${id}`);
  return row !== undefined && decodeIntent((await readEvent(context, row)).record).state !== "abandoned";
}

/**
 * Returns the field `process` of an intent record: the mark of this process (see `pidMark`). Returns no field for a
 * step of a replica, because no process asks for such a step.
 */
function processOf({ processes }: Context, { kind }: Operation): Pick<IntentRecord, "process"> {
  const process = kind === "replica" ? undefined : processes.markOf(processes.pid);
  return process === undefined ? {} : { process };
}

/**
 * Returns the fields of an operation that decide which kept-aside paths it changes. A rollback counts as an undo of its
 * action (`brings`), and so undoes the changes that the action made to kept-aside paths.
 */
export function asideStepOf({
  kind,
  target,
  selective,
  brings,
}: Pick<Operation, "kind" | "target" | "selective" | "brings">): Parameters<typeof asideOfStep>[1] {
  if (brings !== undefined) return { kind: "undo", target: brings };
  return { kind, ...optional({ target }), ...selective };
}

/**
 * Returns the changes that an operation makes to the git state of repositories. If the operation leaves all its files
 * alone because of conflicts, it also leaves git alone. HEAD and the index then still fit the files. `changes`: the
 * changes of files.
 */
export async function gitOfOperation(
  context: Context,
  operation: Parameters<typeof asideStepOf>[0] & Pick<Operation, "conflicts" | "skipped">,
  changes: readonly Change[],
): Promise<GitStep> {
  const step = await gitOfStep(context, asideStepOf(operation));
  if (changes.length > 0 || step.changes.length === 0) return step;
  const { conflicts, skipped = [] } = operation;
  const isLeft = (conflicts?.("").length ?? 0) > 0 || skipped.some(({ reason }) => reason === "changed");
  return isLeft ? withoutFiles(step) : step;
}

/**
 * Returns the operation's changes to kept-aside paths as a stored plan, which the intent names. `blocked`: the
 * kept-aside paths that are left alone.
 */
async function asideOf(
  context: Context,
  operation: Operation,
): Promise<{ readonly aside?: Aside; readonly blocked: readonly SkippedPath[] }> {
  const { changes, blocked } = await asideOfStep(context, asideStepOf(operation));
  const paths = new Set(operation.changes.map(({ path }) => path));
  const free = changes.filter(({ path }) => !paths.has(path));
  if (free.length === 0) return { blocked };
  const until = new Date(context.now() + ASIDE_MS).toISOString();
  return { aside: { plan: await keepPlan(context, free), until }, blocked };
}

function isRefused({ applied, blocked }: CheckReport): boolean {
  return applied.length === 0 && blocked.length > 0;
}

/**
 * Returns true if lack of space has blocked all paths. In that case, a replica tries again later, and does not record
 * that its folder cannot hold the paths.
 */
function isWithoutRoom(report: CheckReport): boolean {
  return isRefused(report) && report.blocked.every(({ reason }) => reason === "no-space");
}

/**
 * Returns true if an operation changed nothing because its paths were blocked. Such an operation is recorded as
 * abandoned. Returns false for two kinds of operations, which are recorded as done:
 *
 * - A replica's step. The record of the step names each path that could not be written. The step is abandoned only if
 *   lack of space blocked all paths.
 * - An undo by selection whose paths were all changed meanwhile. The record of such an undo makes the next undo skip
 *   that work.
 */
export function isNone(
  { kind, replica, selection }: Pick<IntentRecord, "kind" | "replica" | "selection">,
  report: CheckReport,
  asked: readonly Change[],
): boolean {
  if (kind === "replica" && replica !== undefined) return isWithoutRoom(report);
  return isRefused(report) && !(kind === "undo" && selection !== undefined && isAllChanged(report, asked));
}

/**
 * Returns true if every path was left because it was changed meanwhile. A folder that is not empty counts as changed if
 * another path was changed meanwhile.
 */
function isAllChanged({ blocked }: CheckReport, asked: readonly Change[]): boolean {
  const left = new Set(blocked.map(({ path }) => path));
  const rest = blocked.filter(({ reason }) => reason !== "changed");
  const isLeft = asked.every(({ path }) => left.has(path));
  return isLeft && rest.length < blocked.length && rest.every(({ reason }) => reason === "not-empty");
}

interface Performance {
  readonly id: string;
  /** The intent, in the state `open`. */
  readonly intent: IntentRecord;
  readonly operation: Pick<Operation, "changes" | "units" | "onBlocked" | "keepMtime" | "onProgress">;
  /** Returns further events to append after the events `done`. Called only if something was done. */
  readonly also?: (done: readonly EventDraft[], report: ApplyReport) => readonly EventDraft[];
}

/** Opens the intent, changes the files, and closes the intent. The caller holds the lock. */
export async function perform(
  context: Context,
  commit: Commit,
  { id, intent, operation, also }: Performance,
): Promise<OperationReport> {
  const { changes } = operation;
  const isStep = intent.kind === "replica";
  if (isStep) await runCleanup(context, id);
  const token = tokenOf({ id, intent });
  let isOpen = false;
  const begin = async (): Promise<void> => {
    isOpen = true;
    const opened = operation.keepMtime === true ? { ...intent, keepMtime: true as const } : intent;
    await commit.begin([opening(id, opened)]);
  };
  const beside = await asideOfIntent(context, intent);
  const all = { ...operation, changes: [...changes, ...beside] };
  const whole = await carryOut(context, { token, emptiesLater: true, begin, ...maskOf(intent) }, all);
  // `apply` calls `begin` right before its first change. Without a change, the intent is opened here, so that the
  // operation is recorded.
  if (!isOpen) await begin();
  const isNothing = isNone(intent, whole, all.changes);
  const { report, aside, recorded } = await splitAside(context, whole, beside);
  const git = isNothing ? NO_GIT_DONE : await applyGitOf(context, { id, intent }, whole);
  const done = isNothing
    ? [closing(id, { ...intent, state: "abandoned" }, report)]
    : await doneDrafts(context, {
        id,
        intent: { ...intent, state: "done" },
        ...report,
        changes: asMade([...changes, ...recorded], report),
        git: git.drafts,
      });
  // `apply` removes the set-aside files in the background, and `cleanUp` waits until they are gone. The files must be
  // gone before the intent is closed, because only an open intent tells the next process to remove them after a crash.
  if (!isStep) await context.worktree.cleanUp(token);
  await commit.append(isNothing ? done : [...done, ...(also?.(done, report) ?? [])]);
  if (isStep) deferCleanup(context, token);
  const blocked = [...aside.blocked, ...git.blocked];
  return { ...report, id: isNothing ? undefined : id, aside: { ...aside, blocked }, git: git.changes };
}

/**
 * Returns the permission bits that `apply` must never set. Returns no mask for restore, undo and redo, because their
 * states come from this history. Without a mask, `apply` uses its default, with which folders can get the setgid and
 * sticky bits.
 */
function maskOf({ kind }: Pick<IntentRecord, "kind">): Pick<ApplyRequest, "maskMode"> {
  return kind === "restore" || kind === "undo" || kind === "redo" ? {} : { maskMode: NEVER_SET };
}

/** Returns the changes with the modes that the folders got on disk. A new folder may inherit setgid from its parent. */
export function asMade<C extends Change>(changes: readonly C[], { inherited = [] }: ApplyReport): readonly C[] {
  if (inherited.length === 0) return changes;
  const made = new Map(inherited.map((entry) => [entry.path, entry]));
  return changes.map((change) => {
    const entry = made.get(change.path);
    return entry === undefined || change.after === undefined
      ? change
      : { ...change, after: { ...change.after, mode: entry.mode } };
  });
}

async function carryOut(
  context: Context,
  how: Pick<ApplyRequest, "token" | "emptiesLater" | "begin" | "maskMode">,
  operation: Performance["operation"],
): Promise<ApplyReport> {
  const { changes } = operation;
  const units = unitsAmong(operation.units ?? NO_UNITS, changes);
  const open = openDatabases(context, changes);
  const whole = await context.worktree.apply({
    ...how,
    changes: [...changes, ...units.still],
    together: units.units,
    contents: (hashes) => context.blobs.readMany(hashes),
    onBlocked: operation.onBlocked,
    ...optional({ keepMtime: operation.keepMtime }),
    onProgress: (done, total) => operation.onProgress?.({ phase: "restore", done, total, unit: "paths" }),
  });
  const report = withoutStill(whole, units);
  warnOfOpenDatabases(context, open, report.applied);
  dropDerived(context, report.applied, units);
  tellOfOwners(context, report);
  if (operation.keepMtime === true) tellOfTimes(context.tell, changes, report);
  return report;
}

/** Reports the written files whose recorded times could not be set, and those whose times are not exact. */
export function tellOfTimes(tell: Context["tell"], changes: readonly Change[], report: ApplyReport): void {
  const applied = new Set(report.applied);
  const lost = changes.filter(
    ({ path, after }) => after?.kind === "file" && !isKeptTime(after.mtimeMs) && applied.has(path),
  );
  for (const { path } of lost.slice(0, MOST_TOLD)) {
    tell?.(
      `${shownPath(path)} has the present time: its own time is earlier than 1677 or later than 2262, which cannot be kept`,
    );
  }
  const more = lost.length - MOST_TOLD;
  if (more > 0) tell?.(`${more} more files have the present time for the same reason`);
  tellOfInexactTimes(tell, report);
}

function tellOfInexactTimes(tell: Context["tell"], { inexactTimes = [] }: ApplyReport): void {
  const [first] = inexactTimes;
  if (first === undefined) return;
  const offNs = inexactTimes.reduce((most, one) => (one.offNs > most ? one.offNs : most), 0n);
  const off = offNs < 1_000_000n ? `${offNs} ns` : `${offNs / 1_000_000n} ms`;
  const which =
    inexactTimes.length === 1
      ? `the time of ${shownPath(first.path)} is`
      : `the times of ${inexactTimes.length} files are`;
  tell?.(
    `${which} up to ${off} off: the disk keeps coarser times, or this machine has no program \`touch\` of coreutils`,
  );
}

const MOST_TOLD = 20;

function tellOfOwners(context: Context, { lostOwners = [] }: ApplyReport): void {
  for (const { path, uid, gid } of lostOwners.slice(0, MOST_TOLD)) {
    context.tell?.(
      `${shownPath(path)} belonged to user ${uid} and group ${gid}; only root can restore this owner and group`,
    );
  }
  const more = lostOwners.length - MOST_TOLD;
  if (more > 0) context.tell?.(`${more} more files belonged to other users or groups; only root can restore these`);
}

export async function keepPlan(context: Context, changes: readonly UpstreamChange[]): Promise<Hash> {
  return withBatch(context.blobs, (batch) => batch.put(encodePlan(changes)));
}

/**
 * The maximum number of states that an intent lists in its own record. A longer list is stored as a plan, which costs a
 * blob and an fsync.
 */
export const MOST_INLINE = 32;

/**
 * Returns the fields with which an intent names its changes. With more than `MOST_INLINE` states, the changes become a
 * stored plan. `states`: the number of states, if it differs from the number of changes.
 */
export async function todoOf(
  context: Context,
  changes: readonly UpstreamChange[],
  states = changes.length,
): Promise<Pick<IntentRecord, "changes" | "plan">> {
  return states > MOST_INLINE ? { plan: await keepPlan(context, changes) } : { changes };
}

interface OpenIntent {
  readonly id: string;
  readonly intent: IntentRecord;
}

/** Returns the open intents: those of running operations, and those that a crash has left open. */
export async function openIntents(context: Context): Promise<OpenIntent[]> {
  const open: OpenIntent[] = [];
  for (const row of await openRows(context, "intent:")) {
    const intent = decodeIntent((await readEvent(context, row)).record);
    open.push({ id: row.recordId.slice("intent:".length), intent });
  }
  return open;
}

/**
 * Runs `work` as `withCommit` does. Resolves to `undefined` without running `work` if an intent is open. While the lock
 * is held, only an interrupted operation has an open intent. The caller must then call `settle`.
 */
export function withSettledCommit<T>(
  context: Context,
  work: (commit: Commit) => Promise<T | undefined>,
): Promise<T | undefined> {
  return withCommit(context, async (commit) => ((await openIntents(context)).length > 0 ? undefined : work(commit)));
}

/** An interrupted operation that was settled, and the changes that `settle` made. */
export interface FinishedIntent extends OpenIntent, Pick<Rest, "state"> {
  readonly changes: readonly Change[];
  readonly blocked: readonly BlockedPath[];
  readonly conflicts: ApplyReport["conflicts"];
  /** True if nothing could be done, so that the intent was closed as abandoned. */
  readonly isNothing?: boolean;
}

interface Rest {
  readonly changes: readonly UpstreamChange[];
  /**
   * The state with which the intent is closed: `done` if the operation is carried out, `abandoned` if its changes are
   * undone.
   */
  readonly state: "done" | "abandoned";
}

/** Returns the changes that finish an intent. Throws `BLOB_MISSING` if the intent's plan is not in the store. */
export async function restOf(context: Context, { id, intent }: OpenIntent): Promise<Rest> {
  if (intent.changes !== undefined) return { changes: intent.changes, state: "done" };
  if (intent.plan === undefined) return tornWrite(context, { id, intent });
  const bytes = await context.blobs.get(intent.plan);
  if (bytes !== undefined) return { changes: decodePlan(bytes), state: "done" };
  throw new ChronicleError("BLOB_MISSING", `the plan of the interrupted ${intent.kind} ${id} is not in the store`, {
    hint: "run `chronicle verify`",
  });
}

/**
 * Finishes the operations that a crash has interrupted:
 *
 * - A path that still has its state `before` gets its state `after`. So does a path that the interrupted operation may
 *   have left absent or half changed.
 * - A path that already has its state `after` is done.
 * - Every other path was edited meanwhile. Such a path is left alone, and the next capture records it.
 *
 * An incomplete write to a hosted workspace is undone instead (see `tornWrite`).
 */
export async function settle(context: Context): Promise<FinishedIntent[]> {
  const finished: FinishedIntent[] = [];
  if ((await openIntents(context)).length === 0) {
    await sweepLeft(context);
    return finished;
  }
  await withCommit(context, async (commit) => {
    for (const round of roundsOf(await openIntents(context))) {
      const [only] = round;
      if (only !== undefined && round.length === 1) finished.push(await settleOne(context, commit, only));
      else addAll(finished, await settleRound(context, commit, round));
    }
    context.worktree.sweepLeft();
  });
  return finished;
}

async function settleOne(context: Context, commit: Commit, { id, intent }: OpenIntent): Promise<FinishedIntent> {
  const { changes, state } = await restOf(context, { id, intent });
  const token = tokenOf({ id, intent });
  const beside = await asideOfIntent(context, intent);
  const { units } = intent.kind === "write" ? NO_UNITS : await databaseUnits(context, changes);
  const all = [...changes, ...beside];
  const whole = await resume(context, {
    token,
    together: units,
    changes: all,
    ...optional({ keepMtime: intent.keepMtime }),
    ...maskOf(intent),
  });
  // For a write, `isNothing` is never true, because the events of the write may be in the log already. The next capture
  // records the paths that could not be written.
  const isNothing = intent.kind !== "write" && isNone(intent, whole, all);
  const { report, recorded } = await splitAside(context, whole, beside);
  dropDerived(context, report.applied, { units, still: [] });
  const git = isNothing ? NO_GIT_DONE : await applyGitOf(context, { id, intent }, whole);
  for (const { path, detail } of git.blocked) context.tell?.(`${shownPath(path)} was left as it is: ${detail}`);
  const drafts = isNothing
    ? [closing(id, { ...intent, state: "abandoned" }, report)]
    : await doneDrafts(context, {
        id,
        intent: { ...intent, state },
        ...report,
        changes: asMade([...changes, ...recorded], report),
        git: git.drafts,
      });
  await commit.append(drafts);
  await context.worktree.cleanUp(token);
  return { ...finishedBy({ id, intent }, changes, report), state, isNothing };
}

/**
 * Finishes writes that shared one apply (see `roundsOf`), and closes them in one commit. Also finishes the separate
 * apply of each write, because a crash may have interrupted that apply instead.
 */
async function settleRound(context: Context, commit: Commit, round: readonly OpenIntent[]): Promise<FinishedIntent[]> {
  const token = roundToken(round.map(({ id }) => id));
  const all = round.flatMap(({ intent: { changes = [] } }) => changes);
  const whole = await resume(context, { token, changes: all, maskMode: NEVER_SET });
  dropDerived(context, whole.applied, NO_UNITS);
  const drafts: EventDraft[] = [];
  const finished: FinishedIntent[] = [];
  for (const { id, intent } of round) {
    const { changes = [] } = intent;
    const alone = await resume(context, { token: id, changes, maskMode: NEVER_SET });
    const within = reportOn(whole, new Set(changes.map(({ path }) => path)));
    const report = { ...within, ...alone, conflicts: [...within.conflicts, ...alone.conflicts] };
    const done = { id, intent: { ...intent, state: "done" as const }, ...report, changes: asMade(changes, report) };
    addAll(drafts, await doneDrafts(context, done));
    finished.push({ ...finishedBy({ id, intent }, changes, report), state: "done" });
  }
  await commit.append(drafts);
  for (const one of [token, ...round.map(({ id }) => id)]) await context.worktree.cleanUp(one);
  return finished;
}

function resume(
  context: Context,
  request: Pick<ApplyRequest, "token" | "together" | "changes" | "keepMtime" | "maskMode">,
): Promise<ApplyReport> {
  const contents: ApplyRequest["contents"] = (hashes) => context.blobs.readMany(hashes);
  return context.worktree.apply({ ...request, contents, onBlocked: "skip", resume: true });
}

function finishedBy(
  one: OpenIntent,
  changes: readonly Change[],
  report: ApplyReport,
): Omit<FinishedIntent, "state" | "isNothing"> {
  const { blocked, conflicts } = report;
  const applied = new Set(report.applied);
  return { ...one, changes: asMade(changes, report).filter(({ path }) => applied.has(path)), blocked, conflicts };
}

/** Removes files that an interrupted apply staged in the folders before its intent was in the log. */
async function sweepLeft({ worktree, lock, readOnly }: Context): Promise<void> {
  if (readOnly || !worktree.mayHoldLeft()) return;
  try {
    using _held = await lock.exclusive(0);
    worktree.sweepLeft();
  } catch (error) {
    // Another process holds the lock, and the files may belong to its running apply.
    if (!(error instanceof ChronicleError && error.code === "LOCKED")) throw error;
  }
}

interface TornWrite {
  /** The changes that undo the write's events in the log. Empty if all events of the write are in the log. */
  readonly changes: Change[];
  readonly state: "done" | "abandoned";
}

/**
 * Returns the changes and the state that close an interrupted write to a hosted workspace. All events of such a write,
 * up to the one that closes its intent, are one append. The intent is therefore open only if the end of this append is
 * missing. The intent has no plan from which the write could be finished. Nobody was told that the write was done, so
 * an incomplete write is undone.
 */
async function tornWrite(
  context: Context,
  { id, intent }: { readonly id: string; readonly intent: IntentRecord },
): Promise<TornWrite> {
  const { seq } = await context.index.head();
  const span = { fromSeq: intent.fromSeq, toSeq: seq };
  const { changes: own } = await ownChanges(context, span, { isOwn: (record) => record.intent === id });
  return own.length === intent.paths ? { changes: [], state: "done" } : { changes: invert(own), state: "abandoned" };
}

/**
 * Returns the token under which an intent stages its files. All intents of a replica share one id, so their tokens
 * contain the seq too. With the id alone, a step could mistake staged files of an earlier step for its own: removed
 * files can reappear after a power loss.
 */
function tokenOf({ id, intent }: { readonly id: string; readonly intent: IntentRecord }): string {
  return intent.kind === "replica" ? `${id}-${intent.fromSeq}` : id;
}

const lastToken = memoKey<string>("token of the last step");

/**
 * Notes the token of a closed step of a replica whose set-aside files must still be removed. The next step removes
 * these files before it opens its intent. So a crash leaves set-aside files of only one step, and the log names this
 * step.
 */
function deferCleanup(context: Context, token: string): void {
  context.memo.set(lastToken, token);
}

/**
 * Removes the set-aside files of the replica's last step. If this process has made no step yet, the token of that step
 * is read from the log.
 */
async function runCleanup(context: Context, id: string): Promise<void> {
  const token = context.memo.get(lastToken) ?? (await tokenInLog(context, id));
  if (token === undefined) return;
  await context.worktree.cleanUp(token);
}

async function tokenInLog(context: Context, id: string): Promise<string | undefined> {
  const row = await context.index.record(`intent:${id}`);
  return row === undefined ? undefined : tokenOf({ id, intent: decodeIntent((await readEvent(context, row)).record) });
}

/**
 * Settles an interrupted write to a hosted workspace, before anything is read. If only half of a move were in the log,
 * a read would show files as deleted. Does nothing for a read-only workspace. A failure, such as a lock that another
 * process holds, is reported and not thrown.
 */
export async function finishTorn(context: Context): Promise<void> {
  if (context.readOnly || !isHosted(context.worktree.roots)) return;
  try {
    if ((await answer(context, () => openIntents(context))).length > 0) await settle(context);
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    // Reading continues. The next operation that changes something tries to settle again, and throws the error.
    context.tell?.(`an interrupted change could not be finished: ${error.message}`);
  }
}
