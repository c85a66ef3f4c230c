import { elsewhere } from "../api/routes/row.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { meantBy } from "../core/values/meant-by.ts";
import { Requests, requesting } from "./requests.ts";
import { RemoteWorkspace, type OpenContent, type ReadFile, readingOf } from "./remote-workspace.ts";
import type { Wire } from "./wire.ts";
import { optional } from "../util/optional.ts";
import type { SyncApi, SyncEventShape } from "../api/sync-api.ts";
import { sentEvents } from "./remote-events.ts";
import type { FileShape } from "../api/file-api.ts";
import { fileAtIteration, readFile } from "../api/routes/calls/file-calls.ts";
import type { MeShape } from "../api/routes/reply-shapes.ts";
import type { IterationShape } from "../api/shapes.ts";
import type { StoreApi } from "../api/store-api.ts";
import * as storeCalls from "../api/routes/calls/store-calls.ts";
import type * as shapes from "../api/shapes.ts";
import type * as api from "../api/store-api.ts";
import * as syncCalls from "../api/routes/calls/sync-calls.ts";
import * as calls from "../api/routes/calls/store-calls.ts";

const STORE_REQUESTS = {
  workspaces: storeCalls.listWorkspaces,
  gc: storeCalls.collectStore,
  du: storeCalls.storeUsage,
  doctor: storeCalls.doctor,
};

/** The client of a server. Each `sessionId` is the whole id or the exact name of a workspace. */
export class ChronicleClient {
  /** The operations on the server's store and its workspaces: list, create, fork, archive and so on. */
  readonly store: StoreApi;
  /**
   * The operations on syncs: folders of the server's machine that follow origins. Only the server's owner may use these
   * operations, over the Unix socket.
   */
  readonly syncs: SyncApi;
  readonly #wire: Wire;

  constructor(wire: Wire, home: string) {
    this.#wire = wire;
    this.store = new RemoteStore(wire, home);
    this.syncs = new RemoteSyncs(wire);
  }

  /** Returns the recorded files beneath a folder (default: all files). With `depth` 1, returns only direct children. */
  async listFiles(sessionId: string, path?: string, depth?: number): Promise<FileShape[]> {
    return (await this.workspace(sessionId).files(optional({ path, depth }))).files;
  }

  /** Returns the last recorded state and content of a file. */
  async readFile(sessionId: string, path: string): Promise<ReadFile> {
    const requests = this.#of(sessionId);
    return readingOf(await requests.content(readFile, [path]), openAt(requests, path), this.#wire.retry);
  }

  /** Returns a file's iterations, oldest first: number, time (epoch ms), size, hash … */
  fileHistory(sessionId: string, path: string): Promise<IterationShape[]> {
    return this.workspace(sessionId).history(path);
  }

  /** Returns the state and content of a file at an iteration. */
  async fileAtIteration(sessionId: string, path: string, iteration: number): Promise<ReadFile> {
    const requests = this.#of(sessionId);
    const reply = await requests.content(fileAtIteration, [path, iteration]);
    return readingOf(reply, openAt(requests, path), this.#wire.retry);
  }

  /**
   * Returns a workspace, for all other operations. Sends no request. For a wrong id, the first operation throws an
   * error.
   */
  workspace(id: string): WorkspaceApi {
    return new RemoteWorkspace(this.#wire, id);
  }

  /** Returns this caller as the server knows it: its role, name and workspaces. */
  me(): Promise<MeShape> {
    return new Requests(this.#wire).one(calls.me);
  }

  /** Closes all connections, including those that are in use. Does nothing if the client uses `fetch`. */
  close(): Promise<void> {
    return this.#wire.close();
  }

  #of(id: string): Requests {
    return new Requests(this.#wire, { id });
  }
}

function openAt(requests: Requests, path: string): (iteration: number) => OpenContent {
  return (iteration) => (range) => requests.content(fileAtIteration, [path, iteration], range);
}

/**
 * The store of a server. `init` throws `USAGE`, because only a program on the server's machine can begin to track a
 * folder.
 */
class RemoteStore extends requesting(STORE_REQUESTS) implements api.StoreApi {
  /** The server's address. */
  readonly home: string;
  readonly #wire: Wire;
  readonly #requests: Requests;

  constructor(wire: Wire, home: string) {
    const requests = new Requests(wire);
    super(requests);
    this.home = home;
    this.#wire = wire;
    this.#requests = requests;
  }

  init(): ReturnType<api.StoreApi["init"]> {
    return Promise.reject(trackedElsewhere());
  }

  /**
   * Opens the workspace with the nearest root at or above `folder`. All paths are those of the server's machine. If no
   * workspace has such a root, throws `NOT_FOUND` or, with `create`, `USAGE`. With `upstream`, throws `USAGE` even if
   * there is such a workspace.
   */
  async open({ folder, create = false, ...options }: api.OpenOptions): Promise<WorkspaceApi> {
    const around = (await this.workspaces()).flatMap((shape) =>
      shape.roots.filter((root) => encloses(root, folder)).map((root) => ({ shape, depth: root.length })),
    );
    const [nearest] = around.sort((a, b) => b.depth - a.depth);
    if (nearest !== undefined) return this.#opened(nearest.shape, options);
    if (create) throw trackedElsewhere();
    throw new ChronicleError("NOT_FOUND", `the server tracks no folder around ${folder}`, {
      hint: "say which workspace is meant, by its id or name",
      data: { folder },
    });
  }

  async create(options?: api.CreateOptions): ReturnType<api.StoreApi["create"]> {
    const result = await this.#requests.one(storeCalls.createWorkspace, options);
    return {
      workspace: new RemoteWorkspace(this.#wire, result.workspace, result.path === "" ? [] : [result.path]),
      result,
    };
  }

  async openById(id: string, options: api.OpenByIdOptions = {}): Promise<WorkspaceApi> {
    return this.#opened(await this.#shapeOf(id, options.exact === true), options);
  }

  async archive(id: string, archived?: boolean): Promise<shapes.WorkspaceShape> {
    return this.#requests.one(storeCalls.archiveWorkspace, (await this.#shapeOf(id)).id, archived);
  }

  async forget(id: string, { now = false }: api.ForgetOptions = {}): Promise<shapes.WorkspaceShape> {
    if (now) throw elsewhere("forgetting a history at once (`now`)");
    return this.#requests.one(storeCalls.forgetWorkspace, (await this.#shapeOf(id)).id);
  }

  async marks(id: string, options: api.MarkOptions = {}): Promise<api.MarksShape> {
    refusePerson(options);
    return this.#requests.one(storeCalls.listMarks, id);
  }

  async mark(id: string, changes: api.MarkChanges, options: api.MarkOptions = {}): Promise<void> {
    refusePerson(options);
    return this.#requests.one(storeCalls.changeMarks, id, changes);
  }

  /** Makes later calls of this object throw `USAGE`. The connections stay open, because they belong to the client. */
  async close(): Promise<void> {
    this.#requests.close();
    await Promise.resolve();
  }

  /**
   * Finds a workspace by its name, its id, or (unless `exact`) a prefix of its id. The server matches only whole ids
   * and exact names, so this method matches prefixes itself.
   */
  async #shapeOf(asked: string, exact = false): Promise<shapes.WorkspaceShape> {
    try {
      return await this.#requests.one(storeCalls.getWorkspace, asked);
    } catch (error) {
      if (exact || !(error instanceof ChronicleError) || error.code !== "NOT_FOUND") throw error;
      const [found, ...others] = meantBy(await this.workspaces(), asked, ({ id }) => id);
      if (found === undefined) {
        throw new ChronicleError("NOT_FOUND", `there is no workspace ${JSON.stringify(asked)}`, {
          hint: "`chronicle workspaces` lists them",
          cause: error,
        });
      }
      if (others.length === 0) return found;
      throw new ChronicleError("AMBIGUOUS", `${others.length + 1} workspaces begin with ${asked}`, {
        hint: "give more of the id",
        data: { ids: [found, ...others].map(({ id }) => id) },
      });
    }
  }

  #opened(shape: shapes.WorkspaceShape, options: Omit<api.OpenByIdOptions, "exact">): WorkspaceApi {
    const { role, actor, client, readOnly = false, upstream = false } = options;
    // A server gives no access to mirrors. Without this error, the caller would mistake the workspace's own files for
    // those of the mirror.
    if (upstream) throw elsewhere("opening the mirror of an origin's history (`upstream`)");
    const acting = {
      ...optional({ role, actor, client }),
    };
    return new RemoteWorkspace(this.#wire.with({ acting, readOnly }), shape.id, shape.roots);
  }
}

/** Throws `USAGE` if the options name a person, because a server chooses the person by the caller's token. */
function refusePerson({ person }: api.MarkOptions): void {
  if (person !== undefined) throw elsewhere("access to the marks of another `person`");
}

function trackedElsewhere(): ChronicleError {
  return new ChronicleError("USAGE", "a folder can be tracked only on the machine where the folder is", {
    hint: "run `chronicle init` there; `create` begins a workspace without a folder",
  });
}

function encloses(root: string, folder: string): boolean {
  return folder === root || folder.startsWith(root.endsWith("/") ? root : `${root}/`);
}

const SYNC_REQUESTS = {
  start: syncCalls.startSync,
  list: syncCalls.listSyncs,
  status: syncCalls.syncStatus,
  stop: syncCalls.stopSync,
  pause: syncCalls.pauseSync,
  resume: syncCalls.resumeSync,
  flush: syncCalls.flushSync,
  conflicts: syncCalls.syncConflicts,
  resolve: syncCalls.resolveSync,
};

/** The syncs of a server. Each `id` may also be a folder of the server's machine. */
class RemoteSyncs extends requesting(SYNC_REQUESTS) implements SyncApi {
  readonly #requests: Requests;

  constructor(wire: Wire) {
    const requests = new Requests(wire);
    super(requests);
    this.#requests = requests;
  }

  /** Yields events over one connection. Throws `UNAVAILABLE` when the connection breaks. */
  async *events(id?: string, signal: AbortSignal = this.#requests.ended): AsyncIterable<SyncEventShape> {
    try {
      const { body } = await this.#requests.wire.open({
        call: syncCalls.syncEvents,
        asking: syncCalls.syncEvents.ask(id, signal),
      });
      for await (const { data } of sentEvents(body)) yield JSON.parse(data) as SyncEventShape;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}
