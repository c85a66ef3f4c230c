import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SyncRunner } from "../api/sync-api.ts";
import type { Disk } from "../disk/disk.ts";
import { hasReplicas } from "./has-replicas.ts";
import type { ReplicaAcceptor, ReplicaLoad } from "../api/replication-api.ts";
import type { AdmittedUpgrade } from "../server/http-server.ts";
import type { ReplicaListener, ReplicaListenerOptions } from "../server/replicas/replica-listener.ts";

interface ServedReplicasOptions extends Omit<ReplicaListenerOptions, "acceptor" | "stopping"> {
  /** Loads the code that talks to replicas. */
  readonly acceptor: () => Promise<ReplicaAcceptor>;
}

/** The replicas of a server, loaded with the rest of it. */
export class ServedReplicas {
  readonly #options: ServedReplicasOptions;
  #listener: ReplicaListener | undefined;

  constructor(options: ServedReplicasOptions) {
    this.#options = options;
  }

  async open(stopping: AbortSignal): Promise<void> {
    const { acceptor, ...options } = this.#options;
    const [opened, { ReplicaListener: Listener }] = await Promise.all([
      acceptor(),
      import("../server/replicas/replica-listener.ts"),
    ]);
    this.#listener = new Listener({ ...options, stopping, acceptor: opened });
  }

  async load(): Promise<ReplicaLoad> {
    return (await this.#listener?.load()) ?? { replicas: 0, lag: 0 };
  }

  /** Takes a connection of the Unix socket; closes it if no replicas are served yet. */
  take(socket: Socket): void {
    if (this.#listener === undefined) socket.destroy();
    else this.#listener.take(socket);
  }

  /** Takes a WebSocket that asks to replicate. Returns false for any other, and if no replicas are served yet. */
  upgrade(request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade): boolean {
    if (this.#listener === undefined || !/^\/v1\/replicate(\?|$)/.test(request.url ?? "")) return false;
    this.#listener.upgrade(request, socket, visit);
    return true;
  }
}

interface ServedSyncsOptions {
  readonly disk: Disk;
  readonly home: string;
  /** Loads the code that runs syncs; a process without syncs never does. */
  readonly load: () => Promise<SyncRunner>;
  readonly onError: (error: unknown) => void;
}

/** The syncs that the store's process runs. Their code is loaded if there are any, or on first use. */
export class ServedSyncs {
  readonly #options: ServedSyncsOptions;
  #running: Promise<SyncRunner> | undefined;
  #runner: SyncRunner | undefined;
  #isClosed = false;

  constructor(options: ServedSyncsOptions) {
    this.#options = options;
  }

  /** Number of syncs that are not stopped; while there are any, the process stays. */
  get active(): number {
    return this.#runner?.active ?? 0;
  }

  /** Continues the syncs that ran when their process ended. Never rejects. */
  async takeUp(): Promise<void> {
    const { disk, home, onError } = this.#options;
    try {
      if (!this.#isClosed && hasReplicas(disk, home)) await this.get();
    } catch (error) {
      onError(error);
    }
  }

  get(): Promise<SyncRunner> {
    if (this.#running !== undefined) return this.#running;
    const running = this.#load();
    this.#running = running;
    // A failure may pass, so the next call loads again.
    running.catch(() => {
      if (this.#running === running) this.#running = undefined;
    });
    return running;
  }

  async #load(): Promise<SyncRunner> {
    const runner = await this.#options.load();
    this.#runner = runner;
    await runner.takeUp();
    return runner;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // If loading failed, there is nothing to close.
    await this.#running?.catch(() => undefined);
    await this.#runner?.close();
  }
}
