import type * as acts from "../api/action-api.ts";
import type * as done from "../api/action-shapes.ts";
import { ActionBracket, TransactionBracket } from "../api/bracket.ts";
import type { ConflictShape } from "../api/conflict-shape.ts";
import type * as files from "../api/file-api.ts";
import type { RecordStoreApi } from "../api/record-api.ts";
import * as action from "../api/routes/calls/action-calls.ts";
import * as file from "../api/routes/calls/file-calls.ts";
import * as history from "../api/routes/calls/history-calls.ts";
import * as upkeep from "../api/routes/calls/upkeep-calls.ts";
import type * as shapes from "../api/shapes.ts";
import type * as api from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { Caller } from "./caller.ts";
import { contentPieces } from "./remote-content.ts";
import { remoteEvents } from "./remote-events.ts";
import { allFiles } from "./remote-listing.ts";
import { RemoteRecords } from "./remote-records.ts";
import type { Wire } from "./wire.ts";

type Write = Promise<files.FileWriteShape>;

/**
 * A workspace of a server: `WorkspaceApi`, one line per operation. No operation reports progress. Operations that run
 * or watch on the caller's machine, or that name its folders or processes, throw `USAGE`, since the server is
 * elsewhere.
 */
export class RemoteWorkspace implements api.WorkspaceApi {
  readonly id: string;
  readonly path: string;
  readonly roots: readonly string[];
  readonly records: RecordStoreApi;
  readonly #caller: Caller;
  readonly #actionBracket = new ActionBracket(this);
  readonly #transactionBracket = new TransactionBracket(this);

  /** `roots` as the server reports them; empty if it was not asked. */
  constructor(wire: Wire, id: string, roots: readonly string[] = []) {
    this.id = id;
    this.path = roots[0] ?? "";
    this.roots = roots;
    this.#caller = new Caller(wire, { id });
    this.records = new RemoteRecords(this.#caller);
  }

  status(): Promise<shapes.StatusShape> {
    return this.#caller.one(history.status);
  }

  snapshot(options?: api.SnapshotOptions): Promise<shapes.SnapshotShape> {
    if (options?.acceptDeletions !== undefined) return Promise.reject(elsewhere("accept that a folder is another one"));
    if (options?.onRecord !== undefined) return Promise.reject(elsewhere("take in what is off the record"));
    return this.#caller.one(history.takeSnapshot, options);
  }

  record(paths: readonly string[]): Promise<shapes.RecordShape> {
    return this.#caller.one(history.capture, paths);
  }

  snapshots(): Promise<shapes.SnapshotShape[]> {
    return this.#caller.all(history.listSnapshots, []);
  }

  manifest(moment: string): Promise<shapes.ManifestShape> {
    return this.#caller.one(history.manifest, moment);
  }

  diff(from: string, to: string, options?: api.DiffOptions): Promise<shapes.DiffShape>;
  diff(action: string): Promise<done.ActionDiffShape>;
  diff(from: string, to?: string, options?: api.DiffOptions): Promise<shapes.DiffShape | done.ActionDiffShape> {
    return to === undefined ? this.diffAction(from) : this.#caller.one(history.diff, from, to, options);
  }

  async restore(moment: string, options?: api.RestoreOptions): Promise<shapes.RestoreShape> {
    if (options?.to !== undefined) throw elsewhere("restore to another folder");
    return this.#caller.one(history.restore, moment, options);
  }

  undo(options?: api.UndoOptions): Promise<shapes.UndoShape> {
    return this.#caller.one(history.undo, options);
  }

  redo(options?: api.UndoOptions): Promise<shapes.UndoShape> {
    return this.#caller.one(history.redo, options);
  }

  operations(): Promise<shapes.OperationShape[]> {
    return this.#caller.all(history.listOperations, []);
  }

  recent(limit?: number): Promise<api.RecentShape> {
    return this.#caller.one(history.recent, limit);
  }

  log(options: api.LogOptions = {}): Promise<shapes.LogEventShape[]> {
    return this.#caller.all(history.log, [options], options.limit);
  }

  sessions(): Promise<shapes.SessionShape[]> {
    return this.#caller.all(action.listSessions, []);
  }

  session(id: string): Promise<shapes.SessionShape> {
    return this.#caller.one(action.getSession, id);
  }

  history(path: string, options: files.HistoryOptions = {}): Promise<shapes.IterationShape[]> {
    return this.#caller.all(file.fileHistory, [path, options], options.limit);
  }

  files(options?: files.ListFilesOptions): Promise<files.FileListShape> {
    return allFiles(this.#caller, options);
  }

  async file(path: string, options?: files.ReadFileOptions): Promise<files.FileContent> {
    const shape = await this.#caller.one(file.describeFile, path, options);
    return { ...shape, pieces: (range) => this.#pieces(path, shape, range) };
  }

  async cat(path: string, iteration?: number): Promise<api.ContentStream> {
    const shape = await this.#caller.one(file.describeFile, path, { iteration: iteration ?? "last" });
    const { size, hash, kind } = shape;
    return { path: shape.path, iteration: shape.iteration, size, hash, kind, pieces: () => this.#pieces(path, shape) };
  }

  putFile(...[path, content, options]: Parameters<files.FileApi["putFile"]>): Write {
    return this.#caller.one(file.putFile, path, content, options);
  }

  makeFolder(...[path, options]: Parameters<files.FileApi["makeFolder"]>): Write {
    return this.#caller.one(file.makeFolder, path, options);
  }

  deleteFile(...[path, options]: Parameters<files.FileApi["deleteFile"]>): Write {
    return this.#caller.one(file.deleteFile, path, options);
  }

  moveFile(...[path, to, options]: Parameters<files.FileApi["moveFile"]>): Write {
    return this.#caller.one(file.moveFile, path, to, options);
  }

  async blob(hash: string): ReturnType<files.FileApi["blob"]> {
    const { size } = await this.#caller.one(file.describeBlob, hash);
    const rule = this.#caller.wire.retry;
    const pieces = () =>
      contentPieces((range) => this.#caller.content(file.readBlob, [hash], range), { size, range: undefined, rule });
    return { size, pieces };
  }

  events(options: files.EventsOptions = {}): AsyncIterable<shapes.LogEventShape> {
    const ended = this.#caller.ended;
    const signal = options.signal === undefined ? ended : AbortSignal.any([options.signal, ended]);
    return remoteEvents(this.#caller.wire, { id: this.id }, { ...options, signal });
  }

  find(name: string): Promise<string[]> {
    return this.#caller.all(history.find, [name]);
  }

  explain(path: string): Promise<shapes.ExplainShape> {
    return this.#caller.one(history.explain, path);
  }

  run(): Promise<shapes.RunShape> {
    return Promise.reject(elsewhere("run a command"));
  }

  offRecord<T>(): Promise<T> {
    return Promise.reject(elsewhere("work off the record"));
  }

  watch(): Promise<api.Recording> {
    return Promise.reject(elsewhere("watch a folder"));
  }

  /** Does nothing: the server watches the folders that it hosts by itself. */
  async follow(): Promise<void> {
    await Promise.resolve();
  }

  verify(options?: api.VerifyOptions): Promise<shapes.VerifyShape> {
    if (options?.repairFrom !== undefined) return Promise.reject(elsewhere("repair a store"));
    return this.#caller.one(upkeep.verify, options);
  }

  rebuild(): Promise<shapes.RebuildShape> {
    return this.#caller.one(upkeep.rebuild);
  }

  head(): Promise<shapes.HeadShape> {
    return this.#caller.one(history.head);
  }

  signing(): Promise<shapes.SigningShape> {
    return this.#caller.one(history.signing);
  }

  acceptHead(): Promise<shapes.AcceptedHeadShape> {
    const error = new ChronicleError("USAGE", "a history is accepted on the machine where its store is", {
      hint: "run `chronicle head --accept` there, in a terminal",
    });
    return Promise.reject(error);
  }

  compact(options?: api.CompactOptions): Promise<shapes.CompactShape> {
    return this.#caller.one(upkeep.compact, options);
  }

  gc(): Promise<shapes.GcShape> {
    return this.#caller.one(upkeep.collect);
  }

  du(options?: Parameters<api.WorkspaceApi["du"]>[0]): Promise<shapes.DuShape> {
    return this.#caller.one(upkeep.diskUsage, options);
  }

  config(): Promise<shapes.ConfigShape> {
    return this.#caller.one(upkeep.getConfig);
  }

  configure(change: Partial<shapes.ConfigShape>): Promise<shapes.ConfigShape> {
    return this.#caller.one(upkeep.configure, change);
  }

  retention(): Promise<done.RetentionSourcesShape> {
    return this.#caller.one(upkeep.retention);
  }

  async snapshotAction(request: acts.ActionRequest): Promise<done.ActionShape | null> {
    refuseProcess(request.pid);
    return this.#caller.one(action.beginAction, request);
  }

  finishAction(id: string, end?: acts.ActionEnd): Promise<done.ActionEndShape> {
    return this.#caller.one(action.finishAction, id, end);
  }

  action<T>(request: acts.ActionRequest, work: (action: done.ActionShape | null) => Promise<T> | T): Promise<T> {
    if (request.otr === true) return this.offRecord();
    return this.#actionBracket.run(request, work);
  }

  list(): Promise<done.ActionShape[]> {
    return this.#caller.all(action.listActions, []);
  }

  showAction(id: string): Promise<done.ActionShape> {
    return this.#caller.one(action.getAction, id);
  }

  diffAction(id: string): Promise<done.ActionDiffShape> {
    return this.#caller.one(action.diffAction, id);
  }

  rollback(id: string, options?: acts.RollbackOptions): Promise<shapes.RestoreShape> {
    return this.#caller.one(history.rollback, id, options);
  }

  async verifyIntegrity(): Promise<void> {
    await this.#caller.one(upkeep.verifyIntegrity);
  }

  changes(selection: acts.Selection, options?: { readonly patch?: boolean }): Promise<done.ChangesShape> {
    return this.#caller.one(history.changes, selection, options);
  }

  async startSession(start?: acts.SessionStart): Promise<shapes.SessionShape> {
    refuseProcess(start?.pid);
    return this.#caller.one(action.startSession, start);
  }

  endSession(id: string): Promise<shapes.SessionShape> {
    return this.#caller.one(action.endSession, id);
  }

  async abandonActions(of: acts.ActionsOf): Promise<string[]> {
    return (await this.#caller.one(action.abandonActions, of)).actions;
  }

  async beginTransaction(options?: acts.TransactionOptions): Promise<done.TransactionShape> {
    refuseProcess(options?.pid);
    return this.#caller.one(action.beginTransaction, options);
  }

  commitTransaction(id: string): Promise<done.TransactionShape> {
    return this.#caller.one(action.commitTransaction, id);
  }

  rollbackTransaction(id: string, options?: { readonly force?: boolean }): Promise<done.TransactionRollbackShape> {
    return this.#caller.one(action.rollbackTransaction, id, options);
  }

  transactions(): Promise<done.TransactionShape[]> {
    return this.#caller.all(action.listTransactions, []);
  }

  transaction<T>(
    work: (transaction: done.TransactionShape) => Promise<T> | T,
    options?: acts.TransactionOptions,
  ): Promise<T> {
    return this.#transactionBracket.run(work, options);
  }

  conflicts(options?: acts.ConflictsOptions): Promise<ConflictShape[]> {
    return this.#caller.all(action.listConflicts, [options]);
  }

  resolve(conflict: string, options: acts.ResolveOptions): Promise<done.ResolveShape> {
    return this.#caller.one(action.resolveConflict, conflict, options);
  }

  versions(options?: acts.VersionsOptions): Promise<done.VersionShape[]> {
    return this.#caller.all(action.listVersions, [options]);
  }

  restoreVersion(id: string): Promise<done.VersionRestoreShape> {
    return this.#caller.one(action.restoreVersion, id);
  }

  async prune({ now = false, ...options }: acts.PruneOptions = {}): Promise<done.PruneShape> {
    if (now) throw elsewhere("prune at once");
    return this.#caller.one(upkeep.prune, options);
  }

  async erase({ now = false, ...options }: acts.EraseOptions): Promise<done.EraseShape> {
    if (now) throw elsewhere("erase at once");
    return this.#caller.one(upkeep.erase, options);
  }

  erasures(): Promise<done.ErasureShape[]> {
    return this.#caller.all(upkeep.erasures, []);
  }

  unerase(id: string): Promise<done.ErasureShape> {
    return this.#caller.one(upkeep.unerase, id);
  }

  async pin(id: string, pinned?: boolean): Promise<void> {
    await this.#caller.one(upkeep.pin, id, pinned);
  }

  as(who: api.ActingAs): api.WorkspaceApi {
    const { wire } = this.#caller;
    if (who.role === "person" && wire.acting.role === "agent") {
      throw new ChronicleError("FORBIDDEN", "an agent may not do this: act as a person");
    }
    return new RemoteWorkspace(wire.with({ acting: who }), this.id, this.roots);
  }

  /** Ends the event streams. The connection belongs to the client. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    this.#caller.close();
    await Promise.resolve();
  }

  #pieces(path: string, { kind, size, iteration }: files.FileShape, range?: { start: number; end: number }) {
    const rule = this.#caller.wire.retry;
    const open = (part?: { readonly start: number; readonly end: number }) =>
      this.#caller.content(file.fileAtIteration, [path, iteration], part);
    return contentPieces(open, { size: kind === "dir" ? 0 : size, range, rule });
  }
}

/** The error for operations that only work on the machine of the store. */
export function elsewhere(what: string): ChronicleError {
  return new ChronicleError("USAGE", `a server cannot ${what} for its caller`, {
    hint: "do it on the machine where the folder is",
  });
}

/** Throws for a process of this machine: it means nothing to a server, which may be on another. */
function refuseProcess(pid: number | null | undefined): void {
  if (typeof pid === "number") throw elsewhere("end something with a process");
}
