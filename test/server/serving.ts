import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request, type IncomingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Role } from "../../src/api/routes/role.ts";
import type { StoreApi } from "../../src/api/store-api.ts";
import { diagnosticsFile } from "../../src/daemon/diagnostics.ts";
import { makeRunFolder, ownUid, type RunFolder } from "../../src/daemon/run-folder.ts";
import { StoreServer } from "../../src/daemon/serve-store.ts";
import type { OidcPlan } from "../../src/daemon/serve-options.ts";
import { FileTokenStore } from "../../src/daemon/file-token-store.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { openReplicaAcceptor, openStore, openSyncs } from "../../src/open.ts";
import type { ServerLimits } from "../../src/server/limits/limits.ts";
import type { PageFiles } from "../../src/server/page/page-routes.ts";
import { hashToken, newToken } from "../../src/server/callers/token.ts";

export const OPERATOR = "operator-token-of-these-tests";

export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** `null`: none. Default: the operator's. */
  readonly token?: string | null;
  /** By the Unix socket instead of the port. */
  readonly bySocket?: boolean;
  /** Default: the port without the page. */
  readonly port?: number;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  readonly json: <T = Record<string, unknown>>() => T;
}

export interface StartOptions {
  readonly limits?: Partial<ServerLimits>;
  readonly sharedWith?: readonly string[];
  /** Host a folder, with these files. */
  readonly folder?: boolean;
  readonly metricsPublic?: boolean;
  readonly watchMost?: number;
  /** Has something in the store before the server begins; `base`: a folder for everything. */
  readonly before?: (store: StoreApi, base: string) => Promise<void>;
  readonly oidc?: OidcPlan;
  /** Let replicas follow, and run syncs. */
  readonly replication?: boolean;
  /** The files of the page, which a second port offers. */
  readonly page?: PageFiles;
}

/** A server in this process, on a real socket and a real port, with a store of its own. */
export class Serving implements AsyncDisposable {
  readonly base: string;
  readonly store: StoreApi;
  readonly server: StoreServer;
  readonly run: RunFolder;
  readonly port: number;
  /** The port that offers the page; 0 if there is none. */
  readonly pagePort: number;
  readonly done: Promise<unknown>;
  readonly #book: FileTokenStore;
  #tokens = 0;

  private constructor(made: Pick<Serving, "base" | "store" | "server" | "run" | "port" | "pagePort" | "done">) {
    this.base = made.base;
    this.store = made.store;
    this.server = made.server;
    this.run = made.run;
    this.port = made.port;
    this.pagePort = made.pagePort;
    this.done = made.done;
    this.#book = new FileTokenStore(new NodeDisk(), join(made.base, "config"), () => Date.now());
  }

  static async start(options: StartOptions = {}): Promise<Serving> {
    const { limits = {}, sharedWith = [], folder = false, metricsPublic = false, oidc, watchMost } = options;
    const replication = {
      replicaAcceptor: (onError: (error: unknown) => void) => Promise.resolve(openReplicaAcceptor(store, onError)),
      syncs: (onError: (error: unknown) => void) => Promise.resolve(openSyncs(store, onError)),
    };
    const recorded = { commits: 0, events: 0 };
    const onCommit = ({ events }: { readonly events: number }): void => {
      recorded.commits += 1;
      recorded.events += events;
    };
    const base = mkdtempSync(join(tmpdir(), "chronicle-serve-"));
    mkdirSync(join(base, "project"));
    const home = join(base, "store");
    const disk = new NodeDisk();
    const store = await openStore({ home, configFolder: join(base, "config"), onCommit });
    const run = {
      folder: join(home, "run"),
      address: join(home, "run/serve.sock"),
      socket: join(home, "run/serve.sock"),
    };
    await options.before?.(store, base);
    makeRunFolder(disk, run, ownUid());
    const listening = Promise.withResolvers<readonly string[]>();
    const hosted = Promise.withResolvers<void>();
    const hosts = ["127.0.0.1", "localhost"];
    const plan = { place: { host: "127.0.0.1", port: 0 }, hosts, sharedWith };
    const server = new StoreServer({
      ...{ store, disk, run, limits, configFolder: join(base, "config"), version: "0.1.0", idleMs: 0 },
      ...{ operatorToken: OPERATOR, recorded, metricsPublic, ...(oidc === undefined ? {} : { oidc }) },
      ...(watchMost === undefined ? {} : { watchMost }),
      ...(options.replication === true ? replication : {}),
      ports: [plan, ...(options.page === undefined ? [] : [{ ...plan, page: true } as const])],
      ...(options.page === undefined ? {} : { page: options.page }),
      onListening: listening.resolve,
      onFolder: () => hosted.resolve(),
      ...(folder ? { folder: join(base, "project") } : {}),
    });
    const done = server.serve();
    const [port = 0, pagePort = 0] = (await Promise.race([listening.promise, done.then(() => [])])).map((url) =>
      Number(new URL(url).port),
    );
    if (folder) await hosted.promise;
    return new Serving({ base, store, server, run, done, port, pagePort });
  }

  /** A new token. */
  token(role: Role, workspaces: readonly string[] | null = null, expires: string | null = null): string {
    const token = newToken();
    const id = `t${(this.#tokens += 1)}`;
    const created = new Date().toISOString();
    this.#book.add({ id, name: `${role} ${id}`, role, workspaces, hash: hashToken(token), created, expires });
    return token;
  }

  /** A token that may come with a replica that was another one's. */
  tokenFor(replica: string): string {
    const token = newToken();
    const id = `t${(this.#tokens += 1)}`;
    const [created, hash] = [new Date().toISOString(), hashToken(token)];
    const replicas = [replica];
    this.#book.add({ id, name: id, role: "agent", workspaces: null, replicas, hash, created, expires: null });
    return token;
  }

  /** Gives a token other rights, as whoever edits its file does. */
  change(id: string, rights: { readonly role: Role }): void {
    const record = this.#book.list().find((one) => one.id === id);
    if (record === undefined) throw new Error(`there is no token ${id}`);
    this.#book.remove(id);
    this.#book.add({ ...record, ...rights });
  }

  revoke(id: string): void {
    this.#book.remove(id);
  }

  /** The id of a token that was made here. */
  idOf(token: string): string {
    return this.#book.find(hashToken(token))?.id ?? "";
  }

  /** A request; the path is sent as it stands. */
  ask(path: string, asking: Asking = {}): Promise<Answered> {
    const { method = "GET", headers = {}, body, token = OPERATOR, bySocket = false, port = this.port } = asking;
    const { promise, resolve, reject } = Promise.withResolvers<Answered>();
    const place = bySocket ? { socketPath: this.run.socket } : { host: "127.0.0.1", port };
    const bearer = token === null || bySocket ? {} : { authorization: `Bearer ${token}` };
    const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
    const asked = request({ ...place, path, method, agent: false, headers: { ...bearer, ...length, ...headers } });
    asked.on("response", (response) => {
      const pieces: Buffer[] = [];
      response.on("data", (piece: Buffer) => pieces.push(piece));
      response.on("error", reject);
      response.on("end", () => {
        const bytes = Buffer.concat(pieces);
        const text = bytes.toString("utf8");
        const json = <T>(): T => JSON.parse(text) as T;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes, text, json });
      });
    });
    asked.on("upgrade", (response, socket) => {
      socket.destroy();
      const json = <T>(): T => ({}) as T;
      resolve({ status: 101, headers: response.headers, bytes: Buffer.alloc(0), text: "", json });
    });
    asked.on("error", reject);
    asked.end(body);
    return promise;
  }

  /** A request with a body of JSON. */
  send(path: string, value: unknown, asking: Asking = {}): Promise<Answered> {
    const headers = { "content-type": "application/json", ...asking.headers };
    return this.ask(path, { method: "POST", ...asking, headers, body: JSON.stringify(value) });
  }

  /** A workspace without a folder; its id. */
  async create(name: string): Promise<string> {
    return (await this.send("/v1/workspaces", { name })).json<{ workspace: string }>().workspace;
  }

  put(workspace: string, path: string, body: string | Uint8Array, asking: Asking = {}): Promise<Answered> {
    return this.ask(`/v1/workspaces/${workspace}/files/${path}`, { method: "PUT", ...asking, body });
  }

  read(workspace: string, path: string, asking: Asking = {}): Promise<Answered> {
    return this.ask(`/v1/workspaces/${workspace}/files/${path}`, asking);
  }

  /** Bytes as they are on a connection of their own; resolves to what came back when it is closed, or after `ms`. */
  raw(bytes: string, { ms = 10_000 }: { readonly ms?: number } = {}): Promise<{ text: string; closed: boolean }> {
    const { promise, resolve } = Promise.withResolvers<{ text: string; closed: boolean }>();
    const pieces: Buffer[] = [];
    const socket = connect(this.port, "127.0.0.1", () => socket.write(bytes));
    const end = (closed: boolean) => (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ text: Buffer.concat(pieces).toString("latin1"), closed });
    };
    const timer = setTimeout(end(false), ms);
    socket.on("data", (piece) => pieces.push(piece));
    socket.on("close", end(true));
    socket.on("error", end(true));
    return promise;
  }

  diagnostics(): string {
    try {
      return readFileSync(diagnosticsFile(this.run.folder), "utf8");
    } catch {
      return "";
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.leave("signal");
    await this.done;
    await this.store.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}
