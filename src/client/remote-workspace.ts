import { fileOfHeaders } from "../api/routes/content-headers.ts";
import { collectedBytes, slicedPieces } from "../api/routes/pieces.ts";
import type {
  FileContent,
  BlobContent,
  EventsOptions,
  FileListShape,
  FileShape,
  ListFilesOptions,
  ReadFileOptions,
} from "../api/file-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { isPassing, pause, type RetryRule, waitOf } from "./retry.ts";
import type { WireReply } from "./transport.ts";
import { canonicalJson, type RecordBody } from "../core/values/canonical-json.ts";
import type { RecordEventShape, RecordPut, RecordStoreApi } from "../api/record-api.ts";
import { compact } from "../api/routes/calls/upkeep-calls.ts";
import { Requests, requesting } from "./requests.ts";
import type { ActionRequest, ActionsOf, TransactionOptions } from "../api/action-api.ts";
import type { ActionDiffShape, ActionShape, TransactionShape } from "../api/action-shapes.ts";
import { ActionBracket, TransactionBracket } from "../api/bracket.ts";
import { elsewhere } from "../api/routes/row.ts";
import { MAX_PAGE } from "../api/routes/pages.ts";
import type { DiffShape, HeadChangeShape, LogEventShape, VerifyShape } from "../api/shapes.ts";
import type { ActingAs, ContentStream, DiffOptions, VerifyOptions, WorkspaceApi } from "../api/workspace-api.ts";
import { addAll } from "../util/long-lists.ts";
import { remoteEvents, remoteHead } from "./remote-events.ts";
import type { Wire } from "./wire.ts";
import * as calls from "../api/routes/calls/record-calls.ts";
import * as action from "../api/routes/calls/action-calls.ts";
import * as file from "../api/routes/calls/file-calls.ts";
import * as history from "../api/routes/calls/history-calls.ts";
import * as upkeep from "../api/routes/calls/upkeep-calls.ts";

const REQUESTS = {
  status: history.status,
  snapshot: history.takeSnapshot,
  record: history.capture,
  snapshots: history.listSnapshots,
  manifest: history.manifest,
  restore: history.restore,
  undo: history.undo,
  redo: history.redo,
  operations: history.listOperations,
  recent: history.recent,
  ticks: history.ticks,
  log: history.log,
  find: history.find,
  explain: history.explain,
  head: history.head,
  signing: history.signing,
  recording: history.recording,
  changes: history.changes,
  rollback: history.rollback,

  history: file.fileHistory,
  blame: file.blame,
  textHistory: file.textHistory,
  grep: file.grep,
  putFile: file.putFile,
  makeFolder: file.makeFolder,
  deleteFile: file.deleteFile,
  moveFile: file.moveFile,

  sessions: action.listSessions,
  session: action.getSession,
  startSession: action.startSession,
  startTurn: action.startTurn,
  turns: action.listTurns,
  endSession: action.endSession,
  snapshotAction: action.beginAction,
  finishAction: action.finishAction,
  list: action.listActions,
  showAction: action.getAction,
  diffAction: action.diffAction,
  beginTransaction: action.beginTransaction,
  commitTransaction: action.commitTransaction,
  rollbackTransaction: action.rollbackTransaction,
  transactions: action.listTransactions,
  conflicts: action.listConflicts,
  resolve: action.resolveConflict,
  versions: action.listVersions,
  restoreVersion: action.restoreVersion,

  rebuild: upkeep.rebuild,
  compact: upkeep.compact,
  gc: upkeep.collect,
  du: upkeep.diskUsage,
  config: upkeep.getConfig,
  configure: upkeep.configure,
  retention: upkeep.retention,
  prune: upkeep.prune,
  prunings: upkeep.prunings,
  replicas: upkeep.replicas,
  refusals: upkeep.refusals,
  erase: upkeep.erase,
  erasures: upkeep.erasures,
  unerase: upkeep.unerase,
  pin: upkeep.pin,
};

/**
 * A workspace of a server. `requesting` makes most methods from `REQUESTS`. The class body has the methods that do more
 * than send one request. Only `verify` reports progress. Operations that involve commands, processes or folders of the
 * caller's machine throw `USAGE`, because the server may be on another machine.
 */
export class RemoteWorkspace extends requesting(REQUESTS) implements WorkspaceApi {
  readonly id: string;
  readonly path: string;
  readonly roots: readonly string[];
  readonly records: RecordStoreApi;
  readonly #requests: Requests;
  readonly #actionBracket = new ActionBracket(this);
  readonly #transactionBracket = new TransactionBracket(this);

  /** `roots`: the workspace's folders as the server reports them; empty if the server was not asked. */
  constructor(wire: Wire, id: string, roots: readonly string[] = []) {
    const requests = new Requests(wire, { id });
    super(requests);
    this.id = id;
    this.path = roots[0] ?? "";
    this.roots = roots;
    this.#requests = requests;
    this.records = new RemoteRecords(requests);
  }

  diff(from: string, to: string, options?: DiffOptions): Promise<DiffShape>;
  diff(action: string): Promise<ActionDiffShape>;
  diff(from: string, to?: string, options?: DiffOptions): Promise<DiffShape | ActionDiffShape> {
    return to === undefined ? this.diffAction(from) : this.#requests.one(history.diff, from, to, options);
  }

  /** Collects all pages of the list. All pages show the state at the seq of the first page. */
  async files(options: ListFilesOptions = {}): Promise<FileListShape> {
    const most = options.limit ?? Number.POSITIVE_INFINITY;
    let list = await this.#requests.one(file.listFiles, { ...options, limit: Math.min(most, MAX_PAGE) });
    const { seq, files } = list;
    while (list.next !== null && files.length < most) {
      const limit = Math.min(most - files.length, MAX_PAGE);
      list = await this.#requests.one(file.listFiles, { ...options, at: `seq:${seq}`, after: list.next, limit });
      addAll(files, list.files);
    }
    return { seq, files, next: list.next };
  }

  async file(path: string, options?: ReadFileOptions): Promise<FileContent> {
    const shape = await this.#requests.one(file.describeFile, path, options);
    return { ...shape, pieces: (range) => this.#pieces(path, shape, range) };
  }

  async cat(path: string, iteration?: number): Promise<ContentStream> {
    const shape = await this.#requests.one(file.describeFile, path, { iteration: iteration ?? "last" });
    const { size, hash, kind } = shape;
    return { path: shape.path, iteration: shape.iteration, size, hash, kind, pieces: () => this.#pieces(path, shape) };
  }

  async blob(hash: string): Promise<BlobContent> {
    const { size } = await this.#requests.one(file.describeBlob, hash);
    const rule = this.#requests.wire.retry;
    const pieces = (range?: Range) =>
      contentPieces((part) => this.#requests.content(file.readBlob, [hash], part), { size, range, rule });
    return { size, pieces };
  }

  events(options: EventsOptions = {}): AsyncIterable<LogEventShape> {
    return remoteEvents(this.#requests.wire, { id: this.id }, { ...options, signal: this.#endedBy(options) });
  }

  followHead(options: Pick<EventsOptions, "signal"> = {}): AsyncIterable<HeadChangeShape> {
    return remoteHead(this.#requests.wire, { id: this.id }, this.#endedBy(options));
  }

  #endedBy({ signal }: Pick<EventsOptions, "signal">): AbortSignal {
    const { ended } = this.#requests;
    return signal === undefined ? ended : AbortSignal.any([signal, ended]);
  }

  action<T>(request: ActionRequest, work: (action: ActionShape | null) => Promise<T> | T): Promise<T> {
    if (request.otr === true) return this.offRecord();
    return this.#actionBracket.run(request, work);
  }

  transaction<T>(work: (transaction: TransactionShape) => Promise<T> | T, options?: TransactionOptions): Promise<T> {
    return this.#transactionBracket.run(work, options);
  }

  async abandonActions(of: ActionsOf): Promise<string[]> {
    return (await this.#requests.one(action.abandonActions, of)).actions;
  }

  /** Follows the steps of the verification only for a caller who wants its progress, because older servers have none. */
  async verify(options: VerifyOptions = {}): Promise<VerifyShape> {
    const { onProgress, signal } = options;
    try {
      if (onProgress === undefined) return await this.#requests.one(upkeep.verify, options);
      return await this.#verifyInSteps({ ...options, onProgress });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  async #verifyInSteps(options: VerifyOptions): Promise<VerifyShape> {
    try {
      return await this.#requests.result(upkeep.followVerify, [options], options);
    } catch (error) {
      // An older server does not know the steps. If the workspace is missing, the request without steps says so.
      if (!(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
      return this.#requests.one(upkeep.verify, options);
    }
  }

  async verifyIntegrity(): Promise<void> {
    await this.#requests.one(upkeep.verifyIntegrity);
  }

  run(): Promise<never> {
    return Promise.reject(elsewhere("running a command"));
  }

  offRecord(): Promise<never> {
    return Promise.reject(elsewhere("work off the record"));
  }

  watch(): Promise<never> {
    return Promise.reject(elsewhere("watching a folder"));
  }

  /** Does nothing, because the server itself watches the folders of its workspaces. */
  async follow(): Promise<void> {
    await Promise.resolve();
  }

  acceptHead(): Promise<never> {
    const error = new ChronicleError("USAGE", "a history is accepted on the machine where its store is", {
      hint: "run `chronicle head --accept` there, in a terminal",
    });
    return Promise.reject(error);
  }

  as(who: ActingAs): WorkspaceApi {
    const { wire } = this.#requests;
    if (who.role === "person" && wire.acting.role === "agent") {
      throw new ChronicleError("FORBIDDEN", "an agent may not do this: act as a person");
    }
    return new RemoteWorkspace(wire.with({ acting: who }), this.id, this.roots);
  }

  /**
   * Ends the event streams of this object, and makes its later requests throw `USAGE`. The connections stay open,
   * because they belong to the client.
   */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async close(): Promise<void> {
    this.#requests.close();
    await Promise.resolve();
  }

  #pieces(path: string, { kind, size, iteration }: FileShape, range?: Range): AsyncIterable<Uint8Array> {
    const rule = this.#requests.wire.retry;
    const open: OpenContent = (part) => this.#requests.content(file.fileAtIteration, [path, iteration], part);
    return contentPieces(open, { size: kind === "dir" ? 0 : size, range, rule });
  }
}

const RECORD_REQUESTS = { verify: calls.verifyRecords, importChronomemory: calls.importRecords };

/** The records of users in a workspace of a server. Records arrive as JSON, so the type casts are safe. */
class RemoteRecords extends requesting(RECORD_REQUESTS) implements RecordStoreApi {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    super(requests);
    this.#requests = requests;
  }

  async upsert(id: string, record: RecordBody, options?: RecordPut): Promise<RecordEventShape> {
    return (await this.#requests.one(calls.putRecord, id, record, options)) as RecordEventShape;
  }

  async get(id: string): Promise<RecordBody | undefined> {
    const found = await this.#requests.one(calls.getRecord, id);
    return found === null ? undefined : (found.record as RecordBody);
  }

  async delete(id: string, options?: RecordPut): Promise<RecordEventShape | undefined> {
    return ((await this.#requests.one(calls.deleteRecord, id, options)) as RecordEventShape | null) ?? undefined;
  }

  async all(): Promise<readonly (readonly [string, RecordBody])[]> {
    const records = await this.#requests.all(calls.listRecords);
    return records.map(({ id, record }) => [id, record as RecordBody]);
  }

  replay(from?: number): AsyncIterable<RecordEventShape> {
    return this.#requests.each(calls.recordEvents, from) as AsyncIterable<RecordEventShape>;
  }

  /**
   * Reads all records, changes them in this process, and writes them in one request. Throws `PRECONDITION_FAILED` if
   * another caller has written a record in the meantime. A record that was deleted in the meantime stays deleted.
   */
  async migrate(change: (record: RecordBody, id: string) => RecordBody): Promise<number> {
    const rewrites = (await this.all()).map(([id, before]) => ({
      id,
      before,
      record: change(structuredClone(before) as RecordBody, id),
    }));
    return (await this.#requests.one(calls.migrateRecords, rewrites)).records;
  }

  backup(): Promise<string> {
    const error = new ChronicleError("USAGE", "a backup is made in a folder of the server's own machine", {
      hint: "run `chronicle record backup` there, or `export` here",
    });
    return Promise.reject(error);
  }

  async *export(): AsyncIterable<string> {
    for await (const { id, record } of this.#requests.each(calls.listRecords)) {
      yield canonicalJson({ id, record: record as RecordBody });
    }
  }

  async compact(): Promise<number> {
    return (await this.#requests.one(compact)).events_archived;
  }

  async chainValid(): Promise<boolean> {
    return (await this.verify()).ok;
  }

  /** Does nothing, because the records are closed with their workspace. */
  async close(): Promise<void> {
    await Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  [Symbol.dispose](): void {}
}

interface Range {
  readonly start: number;
  /** The end of the range, exclusive. */
  readonly end: number;
}

/** A function that requests an immutable content, or a range of its bytes. */
export type OpenContent = (range?: Range) => Promise<WireReply>;

/**
 * Yields a content of `size` bytes, or a range of its bytes. If the connection breaks, requests the remaining bytes.
 * Throws the error after `rule.tries` tries in a row without new bytes, or if the error is not temporary.
 */
async function* contentPieces(
  open: OpenContent,
  { size, range, rule }: { readonly size: number; readonly range: Range | undefined; readonly rule: RetryRule },
): AsyncIterable<Uint8Array> {
  const end = Math.min(range?.end ?? size, size);
  let at = range?.start ?? 0;
  for (let tried = 1; at < end; tried += 1) {
    try {
      for await (const piece of piecesFrom(open, { start: at, end }, size)) {
        at += piece.length;
        tried = 1;
        yield piece;
      }
      if (at < end) throw new ChronicleError("UNAVAILABLE", "the content was cut off");
    } catch (error) {
      if (tried >= rule.tries || !isPassing(error)) throw error;
      await pause(waitOf(tried, rule));
    }
  }
}

async function* piecesFrom(open: OpenContent, range: Range, size: number): AsyncIterable<Uint8Array> {
  const whole = range.start === 0 && range.end === size;
  const reply = await open(whole ? undefined : range);
  // If a proxy does not support ranges, the reply has the whole content.
  if (whole || reply.status === 206) yield* reply.body;
  else yield* slicedPieces(reply.body, range);
}

/** A file that was read from a server. */
export interface ReadFile extends FileContent {
  /** Returns the whole content as one array. */
  bytes(): Promise<Uint8Array>;
  /** Returns the whole content as UTF-8 text. */
  text(): Promise<string>;
}

/**
 * The maximum size, in bytes, of a content that is read together with its file. A larger content is requested once the
 * caller reads it.
 */
const AT_ONCE = 1024 * 1024;

/**
 * Returns the file of a reply. Discards a content that is larger than `AT_ONCE`, and requests it again once the caller
 * reads it. `open` returns the function that requests the content of an iteration. Throws `UNAVAILABLE` if the reply
 * does not have the headers of a file.
 */
export async function readingOf(
  reply: WireReply,
  open: (iteration: number) => OpenContent,
  rule: RetryRule,
): Promise<ReadFile> {
  const file = fileOfHeaders((name) => reply.header(name));
  if (file === undefined) throw new ChronicleError("UNAVAILABLE", "the reply is not from a Chronicle server");
  const { size, iteration } = file;
  const here = size <= AT_ONCE ? await collectedBytes(reply.body, AT_ONCE) : undefined;
  if (here === undefined) await reply.discard();
  const pieces = (range?: Range): AsyncIterable<Uint8Array> =>
    here?.length === size
      ? slicedPieces(oncePiece(here), range)
      : contentPieces(open(iteration), { size, range, rule });
  const bytes = (): Promise<Uint8Array> => collectedBytes(pieces(), Number.POSITIVE_INFINITY);
  return { ...file, pieces, bytes, text: async () => new TextDecoder().decode(await bytes()) };
}

async function* oncePiece(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
