import { randomBytes } from "node:crypto";
import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { StoreApi } from "../../src/api/store-api.ts";
import { StoreServer } from "../../src/daemon/serve-store.ts";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import type { ClientOptions } from "../../src/client/create-client.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { openStore } from "../../src/open.ts";
import type { ServeOptions } from "../../src/daemon/serve-options.ts";
import type { ServerLimits } from "../../src/server/limits/limits.ts";

interface ServedOptions {
  /** A folder that the server hosts and watches. Default: none. */
  readonly folder?: string;
  readonly limits?: Partial<ServerLimits>;
  /** The store to serve. Default: a new one. */
  readonly places?: { readonly home: string; readonly configFolder: string };
  /** Carries out commands of other processes that have this version. Default: the server carries out none. */
  readonly performs?: { readonly version: string; readonly perform: NonNullable<ServeOptions["perform"]> };
}

/**
 * A store and a server of it in this process, on a real Unix socket and a real port. Disposal ends and removes
 * everything.
 */
export class ServedStore implements AsyncDisposable {
  readonly base: string;
  readonly store: StoreApi;
  readonly token: string;
  /** `http://127.0.0.1:…` */
  readonly url: string;
  readonly socketUrl: string;
  readonly #server: StoreServer;
  readonly #served: Promise<unknown>;
  readonly #clients: ChronicleClient[] = [];

  private constructor(
    parts: Pick<ServedStore, "base" | "store" | "token" | "url" | "socketUrl">,
    server: StoreServer,
    served: Promise<unknown>,
  ) {
    this.base = parts.base;
    this.store = parts.store;
    this.token = parts.token;
    this.url = parts.url;
    this.socketUrl = parts.socketUrl;
    this.#server = server;
    this.#served = served;
  }

  static async start({ folder, limits, places, performs }: ServedOptions = {}) {
    const base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-served-")));
    const { home, configFolder } = places ?? { home: join(base, "store"), configFolder: join(base, "config") };
    const store = await openStore({ home, configFolder });
    const token = randomBytes(24).toString("hex");
    const socket = join(home, "run", "serve.sock");
    const listening = Promise.withResolvers<readonly string[]>();
    const hosted = Promise.withResolvers<unknown>();
    const hosts = ["127.0.0.1", "localhost"];
    const server = new StoreServer({
      ...{ store, configFolder, disk: new NodeDisk(), version: "0.0.0-test", idleMs: 0, operatorToken: token },
      run: { folder: join(home, "run"), address: socket, socket },
      ports: [{ place: { host: "127.0.0.1", port: 0 }, hosts, sharedWith: [] }],
      ...(limits === undefined ? {} : { limits }),
      ...performs,
      ...(folder === undefined ? {} : { folder }),
      onListening: listening.resolve,
      onFolder: hosted.resolve,
    });
    const served = server.serve();
    const [url = ""] = await Promise.race([listening.promise, served.then(() => [])]);
    if (folder !== undefined) await hosted.promise;
    return new ServedStore({ base, store, token, url, socketUrl: `unix:${socket}` }, server, served);
  }

  /** Returns a client: over the Unix socket as the owner, or over the port with the operator's token. */
  client(over: "socket" | "port" = "socket", options: Partial<ClientOptions> = {}): ChronicleClient {
    const client =
      over === "socket"
        ? createClient({ url: this.socketUrl, ...options })
        : createClient({ url: this.url, token: this.token, ...options });
    this.#clients.push(client);
    return client;
  }

  async stop(): Promise<void> {
    this.#server.leave("signal");
    await this.#served;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) await client.close();
    await this.stop();
    await this.store.close();
    rmSync(this.base, { recursive: true, force: true });
  }
}
