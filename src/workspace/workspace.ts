import type * as acts from "../api/action-api.ts";
import type * as done from "../api/action-shapes.ts";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type { RecordStoreApi } from "../api/record-api.ts";
import type * as shapes from "../api/shapes.ts";
import type * as api from "../api/workspace-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError, withCode } from "../core/errors.ts";
import { abandonActions } from "./abandon-actions.ts";
import { actionShapes, findAction, listActions } from "./actions.ts";
import { endAgentSession, startAgentSession } from "./agent-session.ts";
import { answer } from "./answer.ts";
import { bracketAction, bracketTransaction } from "./bracket.ts";
import { catchUp } from "./catch-up.ts";
import { refuseReadOnly } from "./commit.ts";
import { compact } from "./compact.ts";
import { configOf, configure } from "./config.ts";
import { listConflicts, resolveConflict } from "./conflicts.ts";
import type { Context } from "./context.ts";
import { diffAction } from "./diff-action.ts";
import { diffMoments } from "./diff.ts";
import { explain } from "./explain.ts";
import { finishAction } from "./finish-action.ts";
import { keepHead, showHead } from "./head.ts";
import { findPaths, historyOf, manifestAt, openIteration, readLog } from "./history.ts";
import { listOperations, operationShape, stackOf } from "./operations.ts";
import { pin } from "./pin.ts";
import { keepToLimits, prune } from "./prune.ts";
import { rebuildIndex } from "./rebuild.ts";
import { recentWork } from "./recent.ts";
import { record } from "./record.ts";
import { restoreTo } from "./restore-to.ts";
import { restore } from "./restore.ts";
import { rollback } from "./rollback.ts";
import { run, watch } from "./run.ts";
import { changesOfSelection } from "./selection.ts";
import { findSession, listSessions, sessionShape } from "./session.ts";
import { snapshotAction } from "./snapshot-action.ts";
import { listSnapshots, snapshotShape, takeSnapshot } from "./snapshot.ts";
import { statusOf } from "./status.ts";
import * as transactions from "./transaction.ts";
import { redo, undo } from "./undo.ts";
import { userRecords } from "./user-records.ts";
import { usageOf } from "./usage.ts";
import { verifyIntegrity } from "./verify-integrity.ts";
import { verify } from "./verify.ts";

/** The embedded workspace: one line per operation. Calls that change something are done one after another. */
export class Workspace implements WorkspaceApi {
  readonly #context: Context;
  readonly #onClose: () => Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  #closed = false;
  #records: RecordStoreApi | undefined;

  constructor(context: Context, onClose: () => Promise<void>) {
    this.#context = context;
    this.#onClose = onClose;
  }

  get id(): string {
    return this.#context.workspaceId;
  }

  get path(): string {
    return this.#context.worktree.roots[0]?.folder ?? "";
  }

  status(options: api.ProgressOptions = {}): Promise<shapes.StatusShape> {
    return this.#inTurn(() => statusOf(this.#context, options));
  }

  snapshot(options: api.SnapshotOptions = {}): Promise<shapes.SnapshotShape> {
    return this.#change(() => takeSnapshot(this.#context, options));
  }

  record(paths: readonly string[]): Promise<shapes.RecordShape> {
    return this.#change(() => record(this.#context, paths));
  }

  async snapshots(): Promise<shapes.SnapshotShape[]> {
    return (await this.#read(() => listSnapshots(this.#context))).map(snapshotShape);
  }

  manifest(moment: string): Promise<shapes.ManifestShape> {
    return this.#read(() => manifestAt(this.#context, moment));
  }

  diff(from: string, to: string, options?: api.DiffOptions): Promise<shapes.DiffShape>;
  diff(action: string): Promise<done.ActionDiffShape>;
  diff(from: string, to?: string, options: api.DiffOptions = {}): Promise<shapes.DiffShape | done.ActionDiffShape> {
    if (to === undefined) return this.diffAction(from);
    return this.#inTurn(() => this.#upToDate(() => diffMoments(this.#context, from, to, options)));
  }

  restore(moment: string, options: api.RestoreOptions = {}): Promise<shapes.RestoreShape> {
    if (options.to !== undefined) return this.#read(() => restoreTo(this.#context, moment, options));
    return this.#change(() => restore(this.#context, moment, options), options.dryRun);
  }

  undo(options: api.UndoOptions = {}): Promise<shapes.UndoShape> {
    return this.#change(() => undo(this.#context, options), options.dryRun);
  }

  redo(options: api.UndoOptions = {}): Promise<shapes.UndoShape> {
    return this.#change(() => redo(this.#context, options), options.dryRun);
  }

  async operations(): Promise<shapes.OperationShape[]> {
    const all = await this.#read(() => listOperations(this.#context));
    const stack = stackOf(all);
    return all.map((one) => operationShape(one, stack));
  }

  recent(limit?: number): Promise<api.RecentShape> {
    return this.#read(() => recentWork(this.#context, limit));
  }

  log(options: api.LogOptions = {}): Promise<shapes.LogEventShape[]> {
    return this.#read(() => readLog(this.#context, options));
  }

  async sessions(): Promise<shapes.SessionShape[]> {
    return (await this.#read(() => listSessions(this.#context))).map(sessionShape);
  }

  async session(id: string): Promise<shapes.SessionShape> {
    return sessionShape(await this.#read(() => findSession(this.#context, id)));
  }

  history(path: string): Promise<shapes.IterationShape[]> {
    return this.#read(() => historyOf(this.#context, path));
  }

  find(name: string): Promise<string[]> {
    return this.#read(() => findPaths(this.#context, name));
  }

  cat(path: string, iteration?: number): Promise<api.ContentStream> {
    return this.#read(() => openIteration(this.#context, path, iteration));
  }

  explain(path: string): Promise<shapes.ExplainShape> {
    return this.#read(() => explain(this.#context, path));
  }

  run(options: api.RunOptions): Promise<shapes.RunShape> {
    return this.#change(() => run(this.#context, options));
  }

  watch(
    options: api.ProgressOptions & { readonly onCapture?: (changes: number) => void } = {},
  ): Promise<api.Recording> {
    return this.#change(() => watch(this.#context, options));
  }

  follow(): Promise<void> {
    return this.#inTurn(() => this.#context.live.start());
  }

  verify(options: api.VerifyOptions = {}): Promise<shapes.VerifyShape> {
    return this.#whileOpen(() => onceMore(() => verify(this.#context, options)));
  }

  rebuild(options: api.ProgressOptions = {}): Promise<shapes.RebuildShape> {
    return this.#change(() => rebuildIndex(this.#context, options));
  }

  head(): Promise<shapes.HeadShape> {
    return this.#inTurn(() => this.#upToDate(() => showHead(this.#context)));
  }

  compact(options: api.CompactOptions = {}): Promise<shapes.CompactShape> {
    return this.#change(() => compact(this.#context, options));
  }

  gc(): Promise<shapes.GcShape> {
    return this.#change(() => this.#context.store.collect());
  }

  du(options: Parameters<WorkspaceApi["du"]>[0] = {}): Promise<shapes.DuShape> {
    return this.#read(() => usageOf(this.#context, options));
  }

  config(): Promise<shapes.ConfigShape> {
    return this.#read(() => configOf(this.#context));
  }

  retention(): Promise<done.RetentionSourcesShape> {
    const { limits, sources } = this.#context.retention;
    return this.#whileOpen(async () => ({ ...limits, sources: { ...sources } }));
  }

  configure(change: Partial<shapes.ConfigShape>): Promise<shapes.ConfigShape> {
    return this.#change(() => configure(this.#context, change));
  }

  snapshotAction(request: acts.ActionRequest): Promise<done.ActionShape | null> {
    return this.#change(() => withLimits(this.#context, snapshotAction(this.#context, request)));
  }

  finishAction(id: string, end: acts.ActionEnd = {}): Promise<done.ActionEndShape> {
    return this.#change(() => finishAction(this.#context, id, end));
  }

  action<T>(request: acts.ActionRequest, work: (action: done.ActionShape | null) => Promise<T> | T): Promise<T> {
    return bracketAction(this, request, work);
  }

  list(): Promise<done.ActionShape[]> {
    return this.#read(async () => actionShapes(this.#context, await listActions(this.#context)));
  }

  async showAction(id: string): Promise<done.ActionShape> {
    const [shape] = await this.#read(async () => actionShapes(this.#context, [await findAction(this.#context, id)]));
    return shape as done.ActionShape;
  }

  diffAction(id: string): Promise<done.ActionDiffShape> {
    return this.#inTurn(() => this.#upToDate(() => diffAction(this.#context, id)));
  }

  rollback(id: string, options: acts.RollbackOptions = {}): Promise<shapes.RestoreShape> {
    return this.#change(() => rollback(this.#context, id, options), options.dryRun);
  }

  verifyIntegrity(): Promise<void> {
    return this.#whileOpen(() => onceMore(() => verifyIntegrity(this.#context)));
  }

  changes(selection: acts.Selection, options: { readonly patch?: boolean } = {}): Promise<done.ChangesShape> {
    return this.#read(() => changesOfSelection(this.#context, selection, options));
  }

  startSession(start: acts.SessionStart = {}): Promise<shapes.SessionShape> {
    return this.#change(() => startAgentSession(this.#context, start));
  }

  endSession(id: string): Promise<shapes.SessionShape> {
    return this.#change(() => endAgentSession(this.#context, id));
  }

  abandonActions(of: Parameters<acts.ActionApi["abandonActions"]>[0]): Promise<string[]> {
    return this.#change(() => abandonActions(this.#context, of));
  }

  beginTransaction(options: acts.TransactionOptions = {}): Promise<done.TransactionShape> {
    return this.#change(() => transactions.beginTransaction(this.#context, options));
  }

  commitTransaction(id: string): Promise<done.TransactionShape> {
    return this.#write(() => transactions.commitTransaction(this.#context, id));
  }

  rollbackTransaction(id: string, options: { readonly force?: boolean } = {}): Promise<done.TransactionRollbackShape> {
    return this.#write(() => transactions.rollbackTransaction(this.#context, id, options));
  }

  transactions(): Promise<done.TransactionShape[]> {
    return this.#read(() => transactions.listTransactions(this.#context));
  }

  transaction<T>(
    work: (transaction: done.TransactionShape) => Promise<T> | T,
    options: acts.TransactionOptions = {},
  ): Promise<T> {
    return bracketTransaction(this, work, options);
  }

  conflicts(options: acts.ConflictsOptions = {}): Promise<ConflictShape[]> {
    return this.#read(() => listConflicts(this.#context, options));
  }

  resolve(conflict: string, options: acts.ResolveOptions): Promise<done.ResolveShape> {
    return this.#change(() => resolveConflict(this.#context, conflict, options));
  }

  prune(options: acts.PruneOptions = {}): Promise<done.PruneShape> {
    return this.#change(() => prune(this.#context, options), options.dryRun);
  }

  pin(id: string, pinned = true): Promise<void> {
    return this.#change(() => pin(this.#context, id, pinned));
  }

  get records(): RecordStoreApi {
    this.#records ??= userRecords(this.#context, {
      read: (work) => this.#read(work),
      change: (work) => this.#change(work),
      compact: () => this.compact(),
      verify: () => this.verify({ quick: true }),
    });
    return this.#records;
  }

  /** Keeps the signed head and what is remembered of the disk, and closes everything. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#last.catch(() => undefined);
    await withCode(() => this.#end());
  }

  async #end(): Promise<void> {
    try {
      const { damage, head } = await this.#upToDate(() => catchUp(this.#context, { recover: false }));
      if (damage === undefined) {
        if (!this.#context.readOnly) await keepHead(this.#context);
        await this.#context.worktree.save(head.seq);
      }
    } finally {
      await this.#onClose();
    }
  }

  #read<T>(work: () => Promise<T>): Promise<T> {
    return this.#whileOpen(() => this.#upToDate(work));
  }

  async #whileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new ChronicleError("USAGE", "this workspace has been closed", { hint: "open it again" });
    return withCode(work);
  }

  #upToDate<T>(work: () => Promise<T>): Promise<T> {
    return withCode(() => answer(this.#context, work));
  }

  /** For what changes something; a dry run does not. What was begun by a process that is gone is ended first. */
  #change<T>(work: () => Promise<T>, dryRun = false): Promise<T> {
    if (dryRun) return this.#inTurn(work);
    return this.#write(async () => {
      await transactions.endOrphans(this.#context);
      return work();
    });
  }

  #write<T>(work: () => Promise<T>): Promise<T> {
    return this.#inTurn(async () => {
      refuseReadOnly(this.#context);
      return work();
    });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.#whileOpen(() => {
      const next = this.#last.catch(() => undefined).then(() => withCode(work));
      this.#last = next;
      return next;
    });
  }
}

/** Each snapshot of an action is followed by what the limits ask for. */
async function withLimits<T>(context: Context, made: Promise<T | null>): Promise<T | null> {
  const snapshot = await made;
  if (snapshot !== null) await keepToLimits(context);
  return snapshot;
}

/** A damaged index of contents is discarded when it is met; verifying then begins anew without it. */
async function onceMore<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    return work();
  }
}
