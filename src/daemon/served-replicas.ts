import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ReplicaDoor, ReplicaLoad } from "../api/replication-api.ts";
import type { AdmittedUpgrade } from "../server/http-server.ts";
import type { ReplicaListener, ReplicaHallOptions } from "../server/replicas/replica-listener.ts";

export interface ServedReplicasOptions extends Omit<ReplicaHallOptions, "door" | "stopping"> {
  /** Loads the code that talks to replicas. */
  readonly door: () => Promise<ReplicaDoor>;
}

/** The replicas of a server, loaded with the rest of it. */
export class ServedReplicas {
  readonly #options: ServedReplicasOptions;
  #hall: ReplicaListener | undefined;

  constructor(options: ServedReplicasOptions) {
    this.#options = options;
  }

  async open(stopping: AbortSignal): Promise<void> {
    const { door, ...options } = this.#options;
    const [opened, { ReplicaListener: Hall }] = await Promise.all([
      door(),
      import("../server/replicas/replica-listener.ts"),
    ]);
    this.#hall = new Hall({ ...options, stopping, door: opened });
  }

  async load(): Promise<ReplicaLoad> {
    return (await this.#hall?.load()) ?? { replicas: 0, lag: 0 };
  }

  /** Takes a connection of the Unix socket. */
  take(socket: Socket): void {
    if (this.#hall === undefined) socket.destroy();
    else this.#hall.take(socket);
  }

  /** Takes a WebSocket if it asks to replicate; returns whether it did. */
  upgrade(request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade): boolean {
    if (this.#hall === undefined || !/^\/v1\/replicate(\?|$)/.test(request.url ?? "")) return false;
    this.#hall.upgrade(request, socket, visit);
    return true;
  }
}
