import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type {
  ReplicaPlace,
  ReplicaAdmission,
  ReplicaConnection,
  ReplicaAcceptor,
  ReplicaLoad,
} from "../../api/replication-api.ts";
import { mayDo } from "../../api/routes/role.ts";
import type { StoreApi } from "../../api/store-api.ts";
import { ChronicleError, STARTING } from "../../core/values/errors.ts";
import { type Caller, OWNER } from "../callers/caller.ts";
import type { OpenWorkspaces } from "../callers/open-workspaces.ts";
import { openFor, seesShape } from "../callers/scope.ts";
import { agentName } from "../../core/records/actor-name.ts";
import { endUpgrade } from "../answers/send.ts";
import type { AdmittedUpgrade } from "../http-server.ts";
import type { ServerLimits } from "../limits/limits.ts";
import { ConcurrencyLimit } from "../limits/concurrency-limit.ts";

/** The maximum length of a message, which is one frame, in bytes (docs/protocol.md). */
const MOST_PAYLOAD = 4 * 1024 ** 2;

/** The WebSocket close code for an invalid token (docs/protocol.md). */
const UNAUTHENTICATED = 4401;

const RATE_LIMITED = 429;

/** The maximum time between two checks of a replica's token, in milliseconds. */
const REVOKED_MS = 1_000;

export interface ReplicaListenerOptions extends ReplicaSetting {
  readonly acceptor: ReplicaAcceptor;
  readonly limits: ServerLimits;
  /** Aborts when the server is told to end. */
  readonly stopping: AbortSignal;
  /** Adds a line to the diagnostics. */
  readonly report: (line: string) => void;
}

/**
 * Accepts connections of replicas over WebSocket (at `/v1/replicate`) and on the owner's Unix socket, and passes them
 * to the `ReplicaAcceptor`.
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

  /** Returns the number of connected replicas, and the largest lag of one of them. */
  load(): Promise<ReplicaLoad> {
    return this.#options.acceptor.load();
  }

  /**
   * Handles an admitted upgrade. Refuses it if the query of its URL is invalid, or if the caller has too many replicas.
   */
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

  /** Handles a connection of the owner's Unix socket. */
  take(socket: Socket): void {
    this.#accept({ kind: "socket", socket }, OWNER, undefined);
  }

  /** Ends the connections with all replicas. Resolves once they have ended. */
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

  /**
   * Checks the connection's token at intervals, and closes the connection when the token is no longer valid. Returns a
   * function that ends the checks.
   */
  #keepPulse(client: WebSocket, isStillAdmitted: AdmittedUpgrade["isStillAdmitted"]): () => void {
    const timer = setInterval(
      () => {
        isStillAdmitted().then(
          (isIn) => isIn || client.close(UNAUTHENTICATED, "this token is not valid any more"),
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

/**
 * Returns the workspace that a URL names; `undefined` if the URL names none. Returns `null` if the URL has other query
 * fields or names several workspaces.
 */
function workspaceIn(url: string): string | undefined | null {
  const query = new URL(url, "http://chronicle").searchParams;
  const named = query.getAll("workspace");
  const isPlain = [...query.keys()].every((key) => key === "workspace") && named.length < 2;
  return isPlain ? named[0] : null;
}

interface ReplicaSetting {
  readonly store: Pick<StoreApi, "workspaces">;
  readonly workspaces: OpenWorkspaces;
  /** Resolves to the id of the workspace of the folder in which the server was started, as soon as it is known. */
  readonly defaultWorkspace: () => Promise<string | undefined>;
}

/** Returns the server's facts about a replica's connection. `named`: the workspace in the URL. */
function replicaAdmission(setting: ReplicaSetting, caller: Caller, named: string | undefined): ReplicaAdmission {
  const isOperator = mayDo(caller.role, "operator");
  return {
    readOnly: !mayDo(caller.role, "agent"),
    // The changes of a replica whose token is not an operator's are recorded as changes of an agent.
    ...(isOperator ? {} : { actor: agentName(caller.name) }),
    presenter: { id: caller.id, isOperator, replicas: caller.replicas ?? [] },
    place: (asked) => inTime(placeOf(setting, caller, asked ?? named)),
  };
}

/** The time after which a replica is told to try again if its workspace is not open yet, in milliseconds. */
const OPENING_MS = 5_000;

/**
 * Returns the place of a replica. Throws `UNAVAILABLE` if it is not open after `OPENING_MS`. A place that is opened
 * later is disposed at once, but its workspace stays open for a while, so that it is ready when the replica connects
 * again.
 */
async function inTime(opening: Promise<ReplicaPlace>): Promise<ReplicaPlace> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(starting());
    opening.then(
      (place) => place[Symbol.dispose](),
      // The error is ignored here, because the replica gets it when it connects again.
      () => undefined,
    );
  }, OPENING_MS);
  try {
    return await Promise.race([opening, late]);
  } finally {
    clearTimeout(timer);
  }
}

function starting(): ChronicleError {
  return new ChronicleError("UNAVAILABLE", "the server is starting: it opens the workspace", {
    hint: "the replica tries again by itself, every few seconds",
    data: { about: STARTING },
  });
}

/**
 * Opens the workspace of a replica. If `named` is `undefined`, that is the workspace of the server's own folder, or
 * else the only workspace that the caller may see. Throws `NOT_FOUND` if there is no such workspace, and `AMBIGUOUS` if
 * the caller may see several.
 */
async function placeOf(setting: ReplicaSetting, caller: Caller, named: string | undefined): Promise<ReplicaPlace> {
  if (named !== undefined) return openFor(setting.workspaces, caller, named);
  // This waits while the server begins the history of its folder.
  const own = await setting.defaultWorkspace();
  const seen = (await setting.store.workspaces()).filter((one) => seesShape(caller, one) && one.archived !== true);
  const [only, second] = seen.some(({ id }) => id === own) ? seen.filter(({ id }) => id === own) : seen;
  if (only === undefined) {
    const isBound = caller.workspaces !== undefined;
    throw new ChronicleError(
      "NOT_FOUND",
      isBound ? "the server has no workspace that this token is for" : "there is no workspace to replicate",
      { hint: "on the origin's machine: start the server in the folder to replicate, or `workspaces create NAME`" },
    );
  }
  if (second === undefined) return openFor(setting.workspaces, caller, only.id);
  throw new ChronicleError("AMBIGUOUS", `the server has ${seen.length} workspaces`, {
    hint: "name one of them, by its id or name",
    data: { workspaces: seen.slice(0, MOST_LISTED).map(({ id, name }) => name ?? id) },
  });
}

/** The maximum number of workspaces that an error names. */
const MOST_LISTED = 20;
