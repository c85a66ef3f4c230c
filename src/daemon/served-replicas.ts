import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ReplicaAcceptor, ReplicaLoad } from "../api/replication-api.ts";
import type { AdmittedUpgrade } from "../server/http-server.ts";
import type { ReplicaListener, ReplicaListenerOptions } from "../server/replicas/replica-listener.ts";

export interface ServedReplicasOptions extends Omit<ReplicaListenerOptions, "acceptor" | "stopping"> {
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

  /** Takes a connection of the Unix socket. */
  take(socket: Socket): void {
    if (this.#listener === undefined) socket.destroy();
    else this.#listener.take(socket);
  }

  /** Takes a WebSocket if it asks to replicate; returns whether it did. */
  upgrade(request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade): boolean {
    if (this.#listener === undefined || !/^\/v1\/replicate(\?|$)/.test(request.url ?? "")) return false;
    this.#listener.upgrade(request, socket, visit);
    return true;
  }
}
