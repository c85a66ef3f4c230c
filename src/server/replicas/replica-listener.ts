import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { ReplicaConnection, ReplicaAcceptor, ReplicaLoad } from "../../api/replication-api.ts";
import { type Caller, OWNER } from "../callers/caller.ts";
import { endUpgrade } from "../answers/end-upgrade.ts";
import type { AdmittedUpgrade } from "../http-server.ts";
import type { ServerLimits } from "../limits/limits.ts";
import { ConcurrencyLimit } from "../limits/concurrency-limit.ts";
import { type ReplicaSetting, replicaAdmission } from "./replica-admission.ts";

/** Largest message in bytes: one frame of the protocol (docs/protocol.md). */
const MOST_PAYLOAD = 4 * 1024 ** 2;
/** Close codes of docs/protocol.md for an invalid token, and for one replica too many. */
const UNAUTHENTICATED = 4401;
const RATE_LIMITED = 429;
/** A replica may go on with a revoked token for at most this long, in milliseconds. */
const REVOKED_MS = 1_000;

export interface ReplicaListenerOptions extends ReplicaSetting {
  readonly acceptor: ReplicaAcceptor;
  readonly limits: ServerLimits;
  /** The server is told to leave. */
  readonly stopping: AbortSignal;
  /** Takes a line for the diagnostics. */
  readonly report: (line: string) => void;
}

/**
 * Accepts replicas, over WebSocket at `/v1/replicate` and from the owner's Unix socket, and passes them on to the
 * `ReplicaAcceptor`.
 */
export class ReplicaListener {
  readonly #options: ReplicaListenerOptions;
  readonly #slots: ConcurrencyLimit;
  readonly #protocol = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MOST_PAYLOAD,
    perMessageDeflate: false,
  });
  #closing: Promise<void> | undefined;

  constructor(options: ReplicaListenerOptions) {
    this.#options = options;
    this.#slots = new ConcurrencyLimit(options.limits.replicas);
    options.stopping.addEventListener("abort", () => void this.close());
  }

  load(): Promise<ReplicaLoad> {
    return this.#options.acceptor.load();
  }

  /** Takes an admitted connection, if it asks to replicate. */
  upgrade(request: IncomingMessage, socket: Duplex, { caller, head, isStillAdmitted }: AdmittedUpgrade): void {
    const named = workspaceIn(request.url ?? "/");
    if (named === null) return endUpgrade(socket, 400);
    const slot = this.#slots.take(caller.id);
    if (slot === undefined) return endUpgrade(socket, RATE_LIMITED);
    socket.once("close", () => slot[Symbol.dispose]());
    this.#protocol.handleUpgrade(request, socket, head, (client) => {
      const endPulse = this.#keepPulse(client, isStillAdmitted);
      client.once("close", endPulse);
      this.#accept({ kind: "web-socket", socket: client }, caller, named);
    });
  }

  /** Takes a connection of the owner's Unix socket. */
  take(socket: Socket): void {
    this.#accept({ kind: "socket", socket }, OWNER, undefined);
  }

  /** Tells all replicas to leave; resolves once they have been answered. */
  close(): Promise<void> {
    this.#closing ??= this.#options.acceptor.close();
    return this.#closing;
  }

  #accept(connection: ReplicaConnection, caller: Caller, named: string | undefined): void {
    const admission = replicaAdmission(this.#options, caller, named);
    this.#options.acceptor.accept(connection, admission).catch((error: unknown) => {
      this.#report(error);
      if (connection.kind === "socket") connection.socket.destroy();
      else connection.socket.terminate();
    });
  }

  /** Closes the connection when its token is revoked, or expires. */
  #keepPulse(client: WebSocket, isStillAdmitted: AdmittedUpgrade["isStillAdmitted"]): () => void {
    const timer = setInterval(
      () => {
        isStillAdmitted().then(
          (isIn) => isIn || client.close(UNAUTHENTICATED, "this token does not hold any more"),
          (error: unknown) => this.#report(error),
        );
      },
      Math.min(REVOKED_MS, this.#options.limits.heartbeatMs),
    );
    return () => clearInterval(timer);
  }

  #report(error: unknown): void {
    this.#options.report(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
}

/** The workspace in an address, if it names one; `null` if the address has anything else. */
function workspaceIn(url: string): string | undefined | null {
  const query = new URL(url, "http://chronicle").searchParams;
  const named = query.getAll("workspace");
  const isPlain = [...query.keys()].every((key) => key === "workspace") && named.length < 2;
  return isPlain ? named[0] : null;
}
