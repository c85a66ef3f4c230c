import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { endUpgrade } from "../answers/send.ts";
import type { AdmittedUpgrade } from "../http-server.ts";
import { mayDo } from "../../api/routes/role.ts";
import type { ServerLimits } from "../limits/limits.ts";
import type { OpenWorkspaces } from "../callers/open-workspaces.ts";
import type { ProblemSetting } from "../answers/problem.ts";
import { RateLimiter } from "../limits/rate-limiter.ts";
import { ConcurrencyLimit } from "../limits/concurrency-limit.ts";
import { GatewayConnection } from "./connection.ts";

const GATEWAY_PATH = "/v1/gateway";

/** The maximum length of a client's message, in bytes. */
const MOST_PAYLOAD = 1024 * 1024;
/** The maximum time until a client has answered a close frame, in milliseconds. */
const LEAVE_MS = 1_000;

/** Close codes of RFC 6455 §7.4.1. */
const GOING_AWAY = 1001;
const NOT_ALLOWED = 1008;

export interface GatewayOptions extends ProblemSetting {
  readonly workspaces: OpenWorkspaces;
  readonly limits: ServerLimits;
  readonly stopping: AbortSignal;
}

/** Serves clients of the gateway over WebSocket, on all ports and sockets of the server (docs/gateway.md). */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #protocol: WebSocketServer;
  readonly #open = new Map<WebSocket, GatewayConnection>();
  readonly #subscriptions: ConcurrencyLimit;
  readonly #rates: Readonly<Record<AdmittedUpgrade["caller"]["role"], RateLimiter>>;

  constructor(options: GatewayOptions) {
    const { reader, agent, operator } = options.limits.rates;
    this.#options = options;
    this.#subscriptions = new ConcurrencyLimit(options.limits.subscriptions);
    this.#rates = {
      reader: new RateLimiter(reader),
      agent: new RateLimiter(agent),
      operator: new RateLimiter(operator),
    };
    this.#protocol = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: MOST_PAYLOAD,
      perMessageDeflate: false,
    });
    options.stopping.addEventListener("abort", () => this.#leave());
  }

  get load(): { readonly connections: number; readonly subscriptions: number } {
    let subscriptions = 0;
    for (const connection of this.#open.values()) subscriptions += connection.subscriptions;
    return { connections: this.#open.size, subscriptions };
  }

  /** Begins to serve the client. Refuses the upgrade with 404 if the path is not the gateway's. */
  upgrade(request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade): void {
    const [path] = (request.url ?? "/").split("?", 1);
    if (path !== GATEWAY_PATH) {
      endUpgrade(socket, 404);
      return;
    }
    this.#protocol.handleUpgrade(request, socket, visit.head, (client) => this.#greet(client, visit));
  }

  #greet(client: WebSocket, visit: AdmittedUpgrade): void {
    const { caller } = visit;
    const { workspaces, limits, hidden, report } = this.#options;
    const charge = (): number => (caller.isOwner ? 0 : this.#rates[caller.role].take(caller.id, Date.now()));
    const slot = (): Disposable | undefined => this.#subscriptions.take(caller.id);
    // The subscriptions of operators are not limited, because an operator's program may serve thousands of sessions.
    const limited = mayDo(caller.role, "operator") ? {} : { slot };
    const setting = { workspaces, limits, hidden, report, caller, charge, ...limited };
    const connection = new GatewayConnection(client, setting);
    this.#open.set(client, connection);
    const endPulse = this.#keepPulse(client, connection, visit);
    client.once("close", () => {
      endPulse();
      this.#open.delete(client);
    });
  }

  /**
   * Closes the connection if the client does not answer pings, is idle, or no longer has a valid token. Returns a
   * function that ends the checks.
   */
  #keepPulse(
    client: WebSocket,
    connection: GatewayConnection,
    { caller, isStillAdmitted }: AdmittedUpgrade,
  ): () => void {
    const { heartbeatMs, gatewayIdleMs } = this.#options.limits;
    let lives = true;
    client.on("pong", () => (lives = true));
    const timer = setInterval(() => {
      if (!lives) return client.terminate();
      if (!caller.isOwner && connection.idleMs >= gatewayIdleMs)
        return this.#close(client, GOING_AWAY, "nothing was asked for a long time");
      lives = false;
      client.ping();
      isStillAdmitted().then(
        (isIn) => isIn || this.#close(client, NOT_ALLOWED, "this token is not valid any more"),
        (error: unknown) =>
          this.#options.report(error instanceof Error ? (error.stack ?? error.message) : String(error)),
      );
    }, heartbeatMs);
    return () => clearInterval(timer);
  }

  #leave(): void {
    for (const client of this.#open.keys()) this.#close(client, GOING_AWAY, "this server is being ended");
  }

  #close(client: WebSocket, code: number, why: string): void {
    client.close(code, why);
    setTimeout(() => client.terminate(), LEAVE_MS).unref();
  }
}
