import type * as acts from "../api/action-api.ts";
import type * as done from "../api/action-shapes.ts";
import { ActionBracket, TransactionBracket } from "../api/bracket.ts";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type * as files from "../api/file-api.ts";
import type { RecentOptions, RecentShape } from "../api/recent-api.ts";
import type { TicksOptions, TicksShape } from "../api/tick-api.ts";
import type { RecordStoreApi } from "../api/record-api.ts";
import type * as shapes from "../api/shapes.ts";
import type * as api from "../api/workspace-api.ts";
import { abandonActions } from "./actions/abandon-actions.ts";
import { acceptHead, showHead } from "./commit/head.ts";
import { actionShapes } from "./facts/action-shapes.ts";
import { findAction, listActions } from "./facts/actions.ts";
import { ownersOfWork } from "./facts/brackets.ts";
import { answer } from "./log/answer.ts";
import { endAgentSession, startAgentSession } from "./actions/agent-session.ts";
import { agentView, forbidden, listRefusals, recordRefusal } from "./actions/agent-view.ts";
import { closedOutside } from "./actions/outside.ts";
import { blame } from "./read/blame.ts";
import { compact } from "./upkeep/compact.ts";
import { configOf, configure } from "./commit/config.ts";
import { listConflicts, resolveConflict } from "./undo/conflicts.ts";
import type { Caller, Context } from "./log/context.ts";
import { diffAction, diffMoments, handOutChanges, withDetails } from "./read/diff.ts";
import { erase, listErasures, unerase } from "./upkeep/erase.ts";
import { EventFeed, followEvents } from "./read/event-feed.ts";
import { followHead, HeadFeed } from "./read/head-feed.ts";
import { explain } from "./read/explain.ts";
import type { FileWrite } from "./write/ready-write.ts";
import { FileReads, openBlob, openFile } from "./read/read-file.ts";
import { finishAction } from "./actions/finish-action.ts";
import { findPaths, historyOf, manifestAt, openIteration, readLog } from "./read/history.ts";
import { listFiles } from "./read/list-files.ts";
import { LiveRecorder } from "./capture/live-recorder.ts";
import { listOperations, operationShape, stackOf } from "./undo/operations.ts";
import { beginOffRecord, endOffRecord } from "./capture/off-record.ts";
import { pin } from "./upkeep/pin.ts";
import { keepToLimits, listPrunings, prune } from "./upkeep/prune.ts";
import { rebuildIndex } from "./log/catch-up.ts";
import { recordingOf } from "./read/recording.ts";
import { recentWork } from "./undo/recent.ts";
import { SharedAnswers } from "./undo/shared-answers.ts";
import { ticksOf } from "./undo/ticks.ts";
import { unrecordedPaths } from "./read/unrecorded.ts";
import { record } from "./capture/recorder.ts";
import { restoreTo, restore, rollback } from "./undo/restore.ts";
import { endRun, run, watch } from "./undo/run.ts";
import { changesOfSelection } from "./undo/changes-of-selection.ts";
import { everySession, findSessionAnywhere } from "./actions/every-session.ts";
import { snapshotAction } from "./actions/snapshot-action.ts";
import { startTurn } from "./actions/start-turn.ts";
import { listSnapshots, snapshotShape, takeSnapshot } from "./read/snapshot.ts";
import { signingShape } from "./log/signing.ts";
import { grep } from "./read/grep.ts";
import { textHistory } from "./read/text-history.ts";
import { statusOf } from "./read/status.ts";
import { insideAction, surroundingActions } from "./actions/session.ts";
import * as transactions from "./undo/transaction.ts";
import { RequestMeanwhile } from "./facts/taken-ids.ts";
import { type AskedCall, requestOf, restoredBefore, undoneBefore } from "./undo/answer-again.ts";
import { type BeforeChange, onceMore, type OperationQueue } from "./capture/operation-queue.ts";
import { listTurns } from "./undo/turns.ts";
import { redo, undo } from "./undo/undo.ts";
import { userRecords } from "./records/user-records.ts";
import { usageOf } from "./read/usage.ts";
import { verifyIntegrity, verify } from "./upkeep/verify.ts";
import { repair } from "./upkeep/repair.ts";
import * as versions from "./undo/versions.ts";
import { WriteQueue } from "./write/write-queue.ts";
import { agentsName, checkActorName, refuseClaimedName } from "../core/records/actor-name.ts";
import { optional } from "../util/optional.ts";

/** The maximum number of ticks that followers of the head receive with one change. */
const MOST_FOLLOWED = 2_000;

/** The parts that all views of one open workspace share. */
interface Shared {
  readonly writes: WriteQueue;
  readonly reads: FileReads;
  readonly feed: EventFeed;
  readonly heads: HeadFeed;
  readonly recents: SharedAnswers<RecentShape>;
  readonly recorder: LiveRecorder;
}

/**
 * A workspace whose engine runs in this process. Changes, and reads that look at the files on disk, run one after
 * another, in the order of the calls. Other reads begin at once. After `close`, operations throw `USAGE`.
 */
export class Workspace implements api.WorkspaceApi {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  readonly #shared: Shared;
  readonly #actionBracket = new ActionBracket(this);
  readonly #transactionBracket = new TransactionBracket(this);
  #records: RecordStoreApi | undefined;

  /** With `shared`, the new object is a view of a workspace that is already open. */
  constructor(context: Context, queue: OperationQueue, shared?: Shared) {
    this.#context = context;
    this.#queue = queue;
    const feed = shared?.feed ?? new EventFeed(context);
    this.#shared = shared ?? {
      writes: new WriteQueue(context, queue),
      reads: new FileReads(context, queue),
      feed,
      heads: new HeadFeed(feed, (after) => this.#ticksAfter(after)),
      recents: new SharedAnswers(),
      recorder: new LiveRecorder(context, queue),
    };
  }

  get id(): string {
    return this.#context.workspaceId;
  }

  get path(): string {
    return this.roots[0] ?? "";
  }

  get roots(): readonly string[] {
    return this.#context.worktree.roots.map(({ folder }) => folder).filter((folder) => folder !== "");
  }

  status(options: api.ProgressOptions = {}): Promise<shapes.StatusShape> {
    return this.#queue.readInTurn(() => statusOf(this.#context, options, this.#shared.recorder.state));
  }

  snapshot(options: api.SnapshotOptions = {}): Promise<shapes.SnapshotShape> {
    return this.#queue.change(() => takeSnapshot(this.#context, options));
  }

  record(paths: readonly string[]): Promise<shapes.RecordShape> {
    return this.#queue.change(() => record(this.#context, paths));
  }

  async snapshots(): Promise<shapes.SnapshotShape[]> {
    return (await this.#queue.read(() => listSnapshots(this.#context))).map(snapshotShape);
  }

  manifest(moment: string): Promise<shapes.ManifestShape> {
    return this.#queue.read(() => manifestAt(this.#context, moment));
  }

  diff(from: string, to: string, options?: api.DiffOptions): Promise<shapes.DiffShape>;
  diff(action: string): Promise<done.ActionDiffShape>;
  async diff(
    from: string,
    to?: string,
    options: api.DiffOptions = {},
  ): Promise<shapes.DiffShape | done.ActionDiffShape> {
    if (to === undefined) return this.diffAction(from);
    const found = await this.#queue.readInTurn(() => diffMoments(this.#context, from, to, options));
    // Later changes do not wait until the patches are made. The contents that such changes replace can still be read
    // from the history.
    const { onChange } = options;
    if (onChange !== undefined) {
      return this.#queue.whileOpen(() => handOutChanges(this.#context, found, { ...options, onChange }));
    }
    const isPlain = options.patch !== true && options.renames !== true;
    return isPlain ? found.shape : this.#queue.whileOpen(() => withDetails(this.#context, found, options));
  }

  restore(moment: string, options: api.RestoreOptions = {}): Promise<shapes.RestoreShape> {
    if (options.to !== undefined) return this.#queue.read(() => restoreTo(this.#context, moment, options));
    const call = { method: "restore", what: moment, options } as const;
    return this.#once(call, restoredBefore, (context, before) => restore(context, moment, options, before));
  }

  undo(options: api.UndoOptions = {}): Promise<shapes.UndoShape> {
    const call = { method: "undo", options } as const;
    return this.#once(call, undoneBefore, (context, before) => undo(context, options, before));
  }

  redo(options: api.UndoOptions = {}): Promise<shapes.UndoShape> {
    const call = { method: "redo", options } as const;
    return this.#once(call, undoneBefore, (context, before) => redo(context, options, before));
  }

  async operations(): Promise<shapes.OperationShape[]> {
    const all = await this.#queue.read(() => listOperations(this.#context));
    const stack = stackOf(all);
    return all.map((one) => operationShape(one, stack));
  }

  async recent(limit?: number, { atLeast, ...options }: RecentOptions = {}): Promise<RecentShape> {
    const work = (): Promise<RecentShape> => this.#queue.read(() => recentWork(this.#context, limit, options));
    const key = JSON.stringify([this.#context.caller.role, limit, options]);
    const found = await (atLeast === undefined ? work() : this.#shared.recents.of(key, atLeast, work));
    if (options.unrecorded !== true) return found;
    const unrecorded = await this.#queue.readIfIdle(() => unrecordedPaths(this.#context, this.#shared.recorder.state));
    return { ...found, ...optional({ unrecorded }) };
  }

  ticks(options: TicksOptions = {}): Promise<TicksShape> {
    return this.#queue.read(() => ticksOf(this.#context, options));
  }

  log(options: api.LogOptions = {}): Promise<shapes.LogEventShape[]> {
    return this.#queue.read(() => readLog(this.#context, options));
  }

  sessions(): Promise<shapes.SessionShape[]> {
    return this.#queue.read(() => everySession(this.#context));
  }

  session(id: string): Promise<shapes.SessionShape> {
    return this.#queue.read(() => findSessionAnywhere(this.#context, id));
  }

  history(path: string, options: files.HistoryOptions = {}): Promise<shapes.IterationShape[]> {
    return this.#queue.read(() => historyOf(this.#context, path, options));
  }

  blame(path: string, options: files.BlameOptions = {}): Promise<files.BlameShape> {
    const work = () => blame(this.#context, path, options);
    // Only the blame of the present content looks at the disk.
    return options.at === undefined || options.at === "now" ? this.#queue.readInTurn(work) : this.#queue.read(work);
  }

  textHistory(text: string, options: files.TextHistoryOptions = {}): Promise<files.TextHistoryShape> {
    return this.#queue.read(() => textHistory(this.#context, text, options));
  }

  grep(pattern: string, options: files.GrepOptions = {}): Promise<files.GrepShape> {
    return this.#queue.read(() => grep(this.#context, pattern, options));
  }

  files(options: files.ListFilesOptions = {}): Promise<files.FileListShape> {
    return this.#queue.read(() => listFiles(this.#context, options));
  }

  file(path: string, options: files.ReadFileOptions = {}): Promise<files.FileContent> {
    const { at, iteration } = options;
    if (at === undefined && iteration === undefined) return this.#shared.reads.open(path);
    return this.#queue.read(() => openFile(this.#context, path, options));
  }

  putFile(...[path, content, options = {}]: Parameters<files.FileApi["putFile"]>): Promise<files.FileWriteShape> {
    return this.#write({ kind: "put", path, content, options });
  }

  makeFolder(...[path, options = {}]: Parameters<files.FileApi["makeFolder"]>): Promise<files.FileWriteShape> {
    return this.#write({ kind: "folder", path, options });
  }

  deleteFile(...[path, options = {}]: Parameters<files.FileApi["deleteFile"]>): Promise<files.FileWriteShape> {
    return this.#write({ kind: "delete", path, options });
  }

  moveFile(...[path, to, options = {}]: Parameters<files.FileApi["moveFile"]>): Promise<files.FileWriteShape> {
    return this.#write({ kind: "move", path, to, options });
  }

  blob(hash: string): ReturnType<files.FileApi["blob"]> {
    return this.#queue.read(() => openBlob(this.#context, hash));
  }

  events(options: files.EventsOptions = {}): AsyncIterable<shapes.LogEventShape> {
    return followEvents(this.#shared.feed, options);
  }

  followHead(options: Pick<files.EventsOptions, "signal"> = {}): AsyncIterable<shapes.HeadChangeShape> {
    return followHead(this.#shared.heads, options);
  }

  as({ role, actor, client, requestId, onlyInside }: api.ActingAs): api.WorkspaceApi {
    checkActorName(actor);
    if (role === "agent") refuseClaimedName(actor);
    const { caller } = this.#context;
    const name = role === "agent" ? agentsName(actor, caller.actor) : actor;
    const context = {
      ...this.#context,
      caller: { ...caller, ...optional({ role, actor: name, client, requestId }) },
      ...(onlyInside === true ? { outside: closedOutside(this.#context.outside, this.#context.worktree.roots) } : {}),
    };
    const view = new Workspace(context, this.#queue, this.#shared);
    view.close = () => Promise.resolve();
    return role === "agent" ? agentView(view, context) : view;
  }

  owners(): Promise<readonly number[]> {
    return this.#queue.whileOpen(() => answer(this.#context, ({ head }) => ownersOfWork(this.#context, head)));
  }

  refuse(what: string, unlisted = 0): Promise<never> {
    return this.#queue.whileOpen(async () => {
      await recordRefusal(this.#context, what, unlisted === 0 ? [] : [{ unlisted }]);
      throw forbidden(what);
    });
  }

  find(name: string, options?: api.FindOptions): Promise<string[]> {
    return this.#queue.read(() => findPaths(this.#context, name, options));
  }

  cat(path: string, iteration?: number): Promise<api.ContentStream> {
    return this.#queue.read(() => openIteration(this.#context, path, iteration));
  }

  explain(path: string): Promise<shapes.ExplainShape> {
    return this.#queue.read(() => explain(this.#context, path));
  }

  run(options: api.RunOptions): Promise<shapes.RunShape> {
    const within = surroundingActions();
    const { ended } = options;
    if (ended !== undefined) return this.#queue.change(() => endRun(this.#context, ended));
    if (options.runner === undefined) return this.#queue.change(() => run(this.#context, options, { within }));
    return this.#queue.whileOpen(async () => {
      const done = await run(this.#context, options, { within, queue: this.#queue });
      return this.#queue.endOfChanges(done);
    });
  }

  async offRecord<T>(work: () => Promise<T> | T): Promise<T> {
    const begun = await this.#queue.readInTurn(() => beginOffRecord(this.#context));
    const end = (): Promise<void> => this.#queue.readInTurn(() => endOffRecord(this.#context, begun));
    let result: T;
    try {
      result = await work();
    } catch (error) {
      // The caller needs the error of the work, not an error of `end`. If `end` could not note changes, `status`
      // reports them.
      await end().catch(() => undefined);
      throw error;
    }
    await end();
    return result;
  }

  watch(options: api.WatchOptions = {}): Promise<api.Recording> {
    return this.#queue.change(() => watch(this.#context, options));
  }

  async follow(options: api.FollowOptions = {}): Promise<void> {
    await this.#queue.inTurn(async () => {
      await this.#context.live.start();
      if (options.record === true) this.#shared.recorder.start(options);
    });
    if (options.record === true) await this.#shared.recorder.first();
  }

  verify(options: api.VerifyOptions = {}): Promise<shapes.VerifyShape> {
    const { repairFrom } = options;
    const work = () =>
      repairFrom === undefined ? verify(this.#context, options) : repair(this.#context, { ...options, repairFrom });
    return this.#queue.whileOpen(() => onceMore(work));
  }

  rebuild(options: api.ProgressOptions = {}): Promise<shapes.RebuildShape> {
    return this.#queue.change(() => rebuildIndex(this.#context, options));
  }

  head(): Promise<shapes.HeadShape> {
    return this.#queue.readInTurn(() => showHead(this.#context));
  }

  keepHead(): Promise<void> {
    return this.#queue.inTurn(() => this.#context.headFollower.keepNow());
  }

  acceptHead(): Promise<shapes.AcceptedHeadShape> {
    return this.#queue.inTurn(() => acceptHead(this.#context));
  }

  signing(): Promise<shapes.SigningShape> {
    return this.#queue.read(({ damage }) => signingShape(this.#context, damage));
  }

  recording(): Promise<shapes.RecordingShape> {
    return this.#queue.read(({ damage }) => recordingOf(this.#context, this.#shared.recorder.state, damage));
  }

  compact(options: api.CompactOptions = {}): Promise<shapes.CompactShape> {
    return this.#queue.change(() => compact(this.#context, options));
  }

  gc(): Promise<shapes.GcShape> {
    return this.#queue.change(() => this.#context.store.collect());
  }

  du(options: Parameters<api.WorkspaceApi["du"]>[0] = {}): Promise<shapes.DuShape> {
    return this.#queue.read(() => usageOf(this.#context, options));
  }

  config(): Promise<shapes.ConfigShape> {
    return this.#queue.read(() => configOf(this.#context));
  }

  retention(): Promise<done.RetentionSourcesShape> {
    const { limits, sources } = this.#context.retention;
    return this.#queue.whileOpen(async () => ({ ...limits, sources: { ...sources } }));
  }

  configure(change: Partial<shapes.ConfigShape>): Promise<shapes.ConfigShape> {
    return this.#queue.change(() => configure(this.#context, change));
  }

  snapshotAction(request: acts.ActionRequest): Promise<done.ActionShape | null> {
    const around = surroundingActions();
    return this.#queue.change(() => withLimits(this.#context, snapshotAction(this.#context, request, { around })));
  }

  finishAction(id: string, end: acts.ActionEnd = {}): Promise<done.ActionEndShape> {
    return this.#queue.change(() => finishAction(this.#context, id, end));
  }

  action<T>(request: acts.ActionRequest, work: (action: done.ActionShape | null) => Promise<T> | T): Promise<T> {
    if (request.otr === true) return this.offRecord(() => work(null));
    return this.#actionBracket.run(request, (action) => insideAction(action?.id, () => work(action)));
  }

  list(): Promise<done.ActionShape[]> {
    return this.#queue.read(async () => actionShapes(this.#context, await listActions(this.#context)));
  }

  async showAction(id: string): Promise<done.ActionShape> {
    const [shape] = await this.#queue.read(async () =>
      actionShapes(this.#context, [await findAction(this.#context, id)]),
    );
    return shape as done.ActionShape;
  }

  diffAction(id: string): Promise<done.ActionDiffShape> {
    return this.#queue.readInTurn(() => diffAction(this.#context, id));
  }

  rollback(id: string, options: acts.RollbackOptions = {}): Promise<shapes.RestoreShape> {
    const call = { method: "rollback", what: id, options } as const;
    return this.#once(call, restoredBefore, (context, before) => rollback(context, id, options, before));
  }

  verifyIntegrity(): Promise<void> {
    return this.#queue.whileOpen(() => onceMore(() => verifyIntegrity(this.#context)));
  }

  changes(selection: acts.Selection, options: acts.ChangesOptions = {}): Promise<done.ChangesShape> {
    return this.#queue.read(() => changesOfSelection(this.#context, selection, options));
  }

  startSession(start: acts.SessionStart = {}): Promise<shapes.SessionShape> {
    return this.#queue.change(() => startAgentSession(this.#context, start));
  }

  endSession(id: string): Promise<shapes.SessionShape> {
    return this.#queue.change(() => endAgentSession(this.#context, id));
  }

  startTurn(start: acts.TurnStart): Promise<done.TurnStartShape> {
    return this.#queue.change(() => startTurn(this.#context, start));
  }

  turns(options: acts.TurnsOptions = {}): Promise<done.TurnShape[]> {
    return this.#queue.read(() => listTurns(this.#context, options));
  }

  abandonActions(of: acts.ActionsOf): Promise<string[]> {
    return this.#queue.change(() => abandonActions(this.#context, of));
  }

  beginTransaction(options: acts.TransactionOptions = {}): Promise<done.TransactionShape> {
    const actions = surroundingActions();
    return this.#queue.change(() => transactions.beginTransaction(this.#context, options, actions));
  }

  commitTransaction(id: string): Promise<done.TransactionShape> {
    return this.#queue.change(() => transactions.commitTransaction(this.#context, id), { keepsOrphans: true });
  }

  rollbackTransaction(id: string, options: { readonly force?: boolean } = {}): Promise<done.TransactionRollbackShape> {
    return this.#queue.changeAfter((before) => transactions.rollbackTransaction(this.#context, id, options, before), {
      keepsOrphans: true,
    });
  }

  transactions(): Promise<done.TransactionShape[]> {
    return this.#queue.read(() => transactions.listTransactions(this.#context));
  }

  transaction<T>(
    work: (transaction: done.TransactionShape) => Promise<T> | T,
    options: acts.TransactionOptions = {},
  ): Promise<T> {
    return this.#transactionBracket.run(work, options);
  }

  conflicts(options: acts.ConflictsOptions = {}): Promise<ConflictShape[]> {
    return this.#queue.read(() => listConflicts(this.#context, options));
  }

  resolve(conflict: string, options: acts.ResolveOptions): Promise<done.ResolveShape> {
    return this.#queue.change(() => resolveConflict(this.#context, conflict, options));
  }

  versions(options: acts.VersionsOptions = {}): Promise<done.VersionShape[]> {
    return this.#queue.read(() => versions.listVersions(this.#context, options));
  }

  restoreVersion(id: string): Promise<done.VersionRestoreShape> {
    return this.#queue.change(() => versions.restoreVersion(this.#context, id));
  }

  erase(options: acts.EraseOptions): Promise<done.EraseShape> {
    return this.#queue.change(() => erase(this.#context, options), options);
  }

  erasures(): Promise<done.ErasureShape[]> {
    return this.#queue.read(() => listErasures(this.#context));
  }

  unerase(id: string): Promise<done.ErasureShape> {
    return this.#queue.change(() => unerase(this.#context, id));
  }

  prune(options: acts.PruneOptions = {}): Promise<done.PruneShape> {
    return this.#queue.change(() => prune(this.#context, options), options);
  }

  prunings(): Promise<done.PruningShape[]> {
    return this.#queue.read(() => listPrunings(this.#context));
  }

  replicas(): Promise<done.KnownReplicaShape[]> {
    return this.#queue.read(async ({ head }) => {
      const known = await this.#context.store.replicas();
      return known.map(({ id, seq }) => ({ id, seq, lag: Math.max(0, head.seq - seq) }));
    });
  }

  refusals(): Promise<done.RefusalShape[]> {
    return this.#queue.read(() => listRefusals(this.#context));
  }

  pin(id: string, pinned = true): Promise<void> {
    return this.#queue.change(() => pin(this.#context, id, pinned));
  }

  get records(): RecordStoreApi {
    this.#records ??= userRecords(this.#context, {
      read: (work) => this.#queue.read(work),
      change: (work) => this.#queue.change(work),
      compact: () => this.compact(),
      verify: () => this.verify({ quick: true }),
    });
    return this.#records;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    await this.#shared.feed.close();
    await this.#shared.recorder.stop();
    return this.#queue.close();
  }

  /**
   * Does the work. If the caller already made this call under the same request id, returns the earlier answer instead.
   * Always does the work if the call has no request id, or is a dry run.
   */
  async #once<T>(
    call: AskedCall & { readonly options: { readonly dryRun?: boolean } },
    doneBefore: (context: Context, request: NonNullable<Caller["request"]>) => Promise<T | undefined>,
    work: (context: Context, before: BeforeChange) => Promise<T>,
  ): Promise<T> {
    const context = this.#context;
    const request = call.options.dryRun === true ? undefined : requestOf(context.caller, call);
    if (request === undefined) return this.#queue.changeAfter((before) => work(context, before), call.options);
    const asked = { ...context, caller: { ...context.caller, request } };
    const attempt = (): Promise<T> =>
      this.#queue.changeAfter(async (before) => (await doneBefore(context, request)) ?? work(asked, before));
    // `RequestMeanwhile` says that another process has begun the same request after `doneBefore` looked for it.
    return attempt().catch(async (error: unknown) => {
      if (error instanceof RequestMeanwhile) return attempt();
      // The attempt may have failed after its intent was written. `change` finishes such an operation, and `doneBefore`
      // then finds the request. If `change` fails as well, the first error is thrown, because it names the cause.
      const known = await this.#queue.change(() => doneBefore(context, request)).catch(() => undefined);
      if (known === undefined) throw error;
      return known;
    });
  }

  async #ticksAfter(after: number): Promise<TicksShape | undefined> {
    // If the ticks cannot be read, followers are told of the change without ticks, and ask for the ticks themselves.
    const found = await this.ticks({ after, limit: MOST_FOLLOWED }).catch(() => undefined);
    return found?.more === true ? undefined : found;
  }

  #write(write: FileWrite): Promise<files.FileWriteShape> {
    return this.#shared.writes.write(write, this.#context.caller);
  }
}

/**
 * Waits for the snapshot of an action, then prunes the states that exceed the limits of the history (`keepToLimits`).
 * If no snapshot was made (`null`), prunes nothing.
 */
async function withLimits<T>(context: Context, made: Promise<T | null>): Promise<T | null> {
  const snapshot = await made;
  if (snapshot !== null) await keepToLimits(context);
  return snapshot;
}
