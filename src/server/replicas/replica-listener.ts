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

/** The maximum size of a message, in bytes. A message is at most one frame (docs/protocol.md). */
const MOST_PAYLOAD = 4 * 1024 ** 2;

/** The WebSocket close code for an invalid token (docs/protocol.md). */
const UNAUTHENTICATED = 4401;

const RATE_LIMITED = 429;

/** The maximum time between two checks of a replica's token, in milliseconds. */
const REVOKED_MS = 1_000;

export interface ReplicaListenerOptions extends ReplicaSetting {
  readonly acceptor: ReplicaAcceptor;
  readonly limits: ServerLimits;
  readonly stopping: AbortSignal;
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

  load(): Promise<ReplicaLoad> {
    return this.#options.acceptor.load();
  }

  /**
   * Accepts a replica over WebSocket. Refuses the upgrade if the query of its URL is invalid, or if the caller has too
   * many replicas.
   */
  upgrade(request: IncomingMessage, socket: Duplex, { caller, head, isStillAdmitted }: AdmittedUpgrade): void {
    const named = workspaceIn(request.url ?? "/");
    if (named === null) return endUpgrade(socket, 400);
    const slot = this.#slots.take(caller.id);
    if (slot === undefined) return endUpgrade(socket, RATE_LIMITED);
    const giveBack = (): void => slot[Symbol.dispose]();
    socket.once("close", giveBack);
    // If the client left during the admission, "close" was emitted before the listener was added.
    if (socket.destroyed) giveBack();
    this.#protocol.handleUpgrade(request, socket, head, (client) => {
      const endPulse = this.#keepPulse(client, isStillAdmitted);
      client.once("close", endPulse);
      this.#accept({ kind: "web-socket", socket: client }, caller, named);
    });
  }

  /** Accepts a replica on the owner's Unix socket. */
  take(socket: Socket): void {
    this.#accept({ kind: "socket", socket }, OWNER, undefined);
  }

  /** Resolves once all connections have ended. */
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

  /** Closes the connection when its token is no longer valid. Returns a function that ends the checks. */
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
 * Returns the workspace that the URL names, or `undefined` if it names none. Returns `null` for a URL that names
 * several workspaces or has other query fields.
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

/** Returns the admission of a caller's replica. `named` is the workspace in the URL. */
function replicaAdmission(setting: ReplicaSetting, caller: Caller, named: string | undefined): ReplicaAdmission {
  const isOperator = mayDo(caller.role, "operator");
  return {
    readOnly: !mayDo(caller.role, "agent"),
    // Without an operator's token, a replica's changes are recorded as an agent's changes.
    ...(isOperator ? {} : { actor: agentName(caller.name) }),
    presenter: { id: caller.id, isOperator, replicas: caller.replicas ?? [] },
    place: (asked) => inTime(placeOf(setting, caller, asked ?? named)),
  };
}

/**
 * The time for which a connecting replica waits until its workspace is open, in milliseconds. After that, the replica
 * is told to try again.
 */
const OPENING_MS = 5_000;

/**
 * Returns the place (the opened workspace) once it is open. Throws `UNAVAILABLE` if the place is not open after
 * `OPENING_MS`. A place that is opened later is disposed of at once. Its workspace stays open for a while, ready for
 * the replica's next attempt.
 */
async function inTime(opening: Promise<ReplicaPlace>): Promise<ReplicaPlace> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(starting());
    opening.then(
      (place) => place[Symbol.dispose](),
      // Ignore the error, because the replica gets it when it connects again.
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
 * Opens the workspace `named`. If `named` is `undefined`, considers the workspaces that the caller may see and that are
 * not archived. If the workspace of the server's own folder is among them, opens that workspace. Otherwise, opens the
 * only workspace. Throws `NOT_FOUND` if there is none, and `AMBIGUOUS` if there are several.
 */
async function placeOf(setting: ReplicaSetting, caller: Caller, named: string | undefined): Promise<ReplicaPlace> {
  if (named !== undefined) return openFor(setting.workspaces, caller, named);
  // `defaultWorkspace` waits while the server begins the history of its folder.
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

const MOST_LISTED = 20;
