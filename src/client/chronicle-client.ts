import type { FileShape } from "../api/file-api.ts";
import { fileAtIteration, readFile } from "../api/routes/calls/file-calls.ts";
import * as calls from "../api/routes/calls/store-calls.ts";
import type { MeShape } from "../api/routes/reply-shapes.ts";
import type { IterationShape } from "../api/shapes.ts";
import type { StoreApi } from "../api/store-api.ts";
import type { SyncApi } from "../api/sync-api.ts";
import type { WorkspaceApi } from "../api/workspace-api.ts";
import { Requests } from "./requests.ts";
import { type OpenContent, type ReadFile, readingOf } from "./remote-content.ts";
import { RemoteStore } from "./remote-store.ts";
import { RemoteSyncs } from "./remote-syncs.ts";
import { RemoteWorkspace } from "./remote-workspace.ts";
import type { Wire } from "./wire.ts";
import { optional } from "../util/optional.ts";

/** The client of a server. A session is a workspace, by its whole id or its exact name. */
export class ChronicleClient {
  /** Its workspaces: list, create, fork, archive. */
  readonly store: StoreApi;
  /**
   * Folders of the server's machine that follow other stores. Only the machine's owner may use them, on the Unix
   * socket.
   */
  readonly syncs: SyncApi;
  readonly #wire: Wire;

  constructor(wire: Wire, home: string) {
    this.#wire = wire;
    this.store = new RemoteStore(wire, home);
    this.syncs = new RemoteSyncs(wire);
  }

  /** Returns recorded files beneath a folder (default: all); `depth` 1: its direct children. */
  async listFiles(sessionId: string, path?: string, depth?: number): Promise<FileShape[]> {
    return (await this.workspace(sessionId).files(optional({ path, depth }))).files;
  }

  /** Returns a file as it is recorded now. */
  async readFile(sessionId: string, path: string): Promise<ReadFile> {
    const requests = this.#of(sessionId);
    return readingOf(await requests.content(readFile, [path]), openAt(requests, path), this.#wire.retry);
  }

  /** Returns a file's iterations, oldest first: number, time (epoch ms), size, hash … */
  fileHistory(sessionId: string, path: string): Promise<IterationShape[]> {
    return this.workspace(sessionId).history(path);
  }

  /** Returns a file as it was at an iteration. */
  async fileAtIteration(sessionId: string, path: string, iteration: number): Promise<ReadFile> {
    const requests = this.#of(sessionId);
    const reply = await requests.content(fileAtIteration, [path, iteration]);
    return readingOf(reply, openAt(requests, path), this.#wire.retry);
  }

  /** Returns a workspace with all other operations. Sends no request until it is used. */
  workspace(id: string): WorkspaceApi {
    return new RemoteWorkspace(this.#wire, id);
  }

  /** Returns the caller as the server knows it. */
  me(): Promise<MeShape> {
    return new Requests(this.#wire).one(calls.me);
  }

  /** Closes the connections. */
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
