import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SyncRunner, SyncShape } from "../api/sync-api.ts";
import type { Disk } from "../disk/disk.ts";
import { hasReplica, hasReplicas } from "./has-replicas.ts";
import type { ReplicaAcceptor, ReplicaLoad } from "../api/replication-api.ts";
import type { AdmittedUpgrade } from "../server/http-server.ts";
import type { ReplicaListener, ReplicaListenerOptions } from "../server/replicas/replica-listener.ts";

interface ServedReplicasOptions extends Omit<ReplicaListenerOptions, "acceptor" | "stopping"> {
  readonly acceptor: () => Promise<ReplicaAcceptor>;
}

/** The part of the server that serves replicas. Its code is loaded together with the app. */
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

  /** Handles a connection of the Unix socket. Closes the connection if `open` has not ended yet. */
  take(socket: Socket): void {
    if (this.#listener === undefined) socket.destroy();
    else this.#listener.take(socket);
  }

  /**
   * Handles the upgrade of a replica. Returns false, and does nothing, for any other upgrade, or if `open` has not
   * ended yet.
   */
  upgrade(request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade): boolean {
    if (this.#listener === undefined || !/^\/v1\/replicate(\?|$)/.test(request.url ?? "")) return false;
    this.#listener.upgrade(request, socket, visit);
    return true;
  }
}

interface ServedSyncsOptions {
  readonly disk: Disk;
  readonly home: string;
  /** Loads the code that runs syncs. Not called in a process without syncs. */
  readonly load: () => Promise<SyncRunner>;
  readonly onError: (error: unknown) => void;
}

/**
 * The part of the server that runs syncs. `takeUp` loads its code if the store has replicas. Otherwise, the code is
 * loaded on first use.
 */
export class ServedSyncs {
  readonly #options: ServedSyncsOptions;
  #running: Promise<SyncRunner> | undefined;
  #runner: SyncRunner | undefined;
  #isClosed = false;

  constructor(options: ServedSyncsOptions) {
    this.#options = options;
  }

  /** The number of syncs that are not stopped. The process keeps running as long as this number is not 0. */
  get active(): number {
    return this.#runner?.active ?? 0;
  }

  /** Continues the syncs that were active when the previous process ended. Never rejects. */
  async takeUp(): Promise<void> {
    const { disk, home, onError } = this.#options;
    try {
      if (!this.#isClosed && hasReplicas(disk, home)) await this.get();
    } catch (error) {
      onError(error);
    }
  }

  /**
   * Resolves to the runner of syncs. On first use, loads its code and continues the active syncs. Rejects if the load
   * fails; the next call then tries again.
   */
  get(): Promise<SyncRunner> {
    if (this.#running !== undefined) return this.#running;
    const running = this.#load();
    this.#running = running;
    // The next call tries to load the code again, because the failure may be temporary.
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

  /** Resolves to the sync of a workspace's folder; `undefined` if there is none. Loads no code for other workspaces. */
  async find(workspace: string): Promise<SyncShape | undefined> {
    const { disk, home } = this.#options;
    if (!hasReplica(disk, home, workspace)) return undefined;
    return (await (await this.get()).list()).find(({ id }) => id === workspace);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    // The error of a failed load is ignored, because the caller of `get` has received it.
    await this.#running?.catch(() => undefined);
    await this.#runner?.close();
  }
}
