import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import type { SyncShape } from "../../src/api/sync-api.ts";
import type { ChronicleClient } from "../../src/client/chronicle-client.ts";
import { createClient } from "../../src/client/create-node-client.ts";
import { ReplicateProcess } from "./replicate-process.ts";
import { ServerProcess } from "./server-process.ts";

/** The ways to an origin: `--connect` uses its Unix socket, `--ws-connect` a WebSocket with a token. */
export const WAYS = ["--connect", "--ws-connect"] as const;

/** Timeout and interval, in milliseconds, of `until`, which polls the state of the sync. */
const PATIENCE = { timeout: 60_000, interval: 50 };

/** An origin and a folder that follows it, each in a process of its own, over one of the two ways. */
export class FollowedOrigin implements AsyncDisposable {
  readonly origin = new ServerProcess(["--replication"]);
  readonly replica: ReplicateProcess;
  readonly #way: (typeof WAYS)[number];
  readonly #replicateOptions: readonly string[];
  #client: ChronicleClient | undefined;

  /** `more`: further options of `replicate`. `folder`: the folder of the replica. Default: a temporary one. */
  constructor(way: (typeof WAYS)[number], more: readonly string[] = [], folder?: string) {
    this.replica = new ReplicateProcess(folder);
    this.#way = way;
    this.#replicateOptions = more;
  }

  /** Starts the origin, then the replica, and waits until both are equal. The origin's first files must be there. */
  async start(): Promise<void> {
    await this.origin.start();
    await this.startReplica();
    await this.flush();
  }

  /** Starts the replica, for the first time or again. */
  async startReplica(): Promise<void> {
    const socket = this.origin.socketUrl.slice("unix:".length);
    const token = join(this.replica.base, "desk.token");
    if (this.#way === "--ws-connect") writeFileSync(token, this.origin.makeToken("operator"), { mode: 0o600 });
    const options =
      this.#way === "--connect"
        ? [this.#way, socket]
        : [this.#way, this.origin.url.replace("http", "ws"), "--token-file", token];
    await this.replica.start([...options, ...this.#replicateOptions]);
    await this.#client?.close();
    this.#client = createClient({
      url: this.replica.socketUrl,
      retry: { tries: 100, firstWait: 20, longestWait: 300 },
    });
  }

  /** Resolves once every change is on the other side, is a conflict, or was refused (see `SyncApi.flush`). */
  async flush(): Promise<SyncShape> {
    return this.#syncs.flush(this.replica.id, { timeoutMs: 120_000 });
  }

  /** Resumes after a halt, with a decision about the lost files. */
  async resume(accept: "restore" | "deletions"): Promise<void> {
    await this.#syncs.resume(this.replica.id, { accept });
  }

  /** Resumes after a halt, and puts the lost files back. */
  async restore(): Promise<void> {
    await this.resume("restore");
    await this.flush();
  }

  /** Resumes after a halt, as another replica. */
  async adoptAsNew(): Promise<void> {
    await this.#syncs.resume(this.replica.id, { accept: "as-new" });
    await this.flush();
  }

  /** Resumes after a halt, with an origin that was restored from a backup. */
  async rejoin(): Promise<void> {
    await this.#syncs.resume(this.replica.id, { accept: "rejoin" });
    await this.flush();
  }

  status(): Promise<SyncShape> {
    return this.#syncs.status(this.replica.id);
  }

  /** Waits until the sync fulfils the condition, and returns its state. */
  until(isSo: (shape: SyncShape) => boolean): Promise<SyncShape> {
    return vi.waitFor(async () => {
      const shape = await this.status();
      if (!isSo(shape)) throw new Error(`the sync does not fulfil the condition: ${JSON.stringify(shape)}`);
      return shape;
    }, PATIENCE);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client?.close();
    await this.replica[Symbol.asyncDispose]();
    await this.origin[Symbol.asyncDispose]();
  }

  get #syncs() {
    if (this.#client === undefined) throw new Error("the replica was not started");
    return this.#client.syncs;
  }
}
