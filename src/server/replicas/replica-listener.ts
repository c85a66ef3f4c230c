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

/** The store and workspaces that replicas are served from. */
interface ReplicaSetting {
  readonly store: Pick<StoreApi, "workspaces">;
  readonly workspaces: OpenWorkspaces;
  /** The workspace of the folder that the server was started in, once that is known. */
  readonly defaultWorkspace: () => Promise<string | undefined>;
}

/** Admits a caller as a replica. `named`: the workspace in the address. */
function replicaAdmission(setting: ReplicaSetting, caller: Caller, named: string | undefined): ReplicaAdmission {
  const isOperator = mayDo(caller.role, "operator");
  return {
    readOnly: !mayDo(caller.role, "agent"),
    // An agent's changes must not be recorded as a person's.
    ...(isOperator ? {} : { actor: agentName(caller.name) }),
    presenter: { id: caller.id, isOperator, replicas: caller.replicas ?? [] },
    place: (asked) => inTime(placeOf(setting, caller, asked ?? named)),
  };
}

/** If opening a workspace takes longer than this, in milliseconds, the replica is told why it waits. */
const OPENING_MS = 5_000;

/** Gives a workspace back that is opened too late. It stays open for a while, since the replica comes again. */
async function inTime(opening: Promise<ReplicaPlace>): Promise<ReplicaPlace> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(starting());
    opening.then(
      (place) => place[Symbol.dispose](),
      // The replica is told the error when it comes again.
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
    hint: "it is tried again by itself, every few seconds: nothing is to be done",
    data: { about: STARTING },
  });
}

/**
 * Opens the workspace of a replica. If neither the replica nor the address names one, takes that of the server's own
 * folder, else the only one there is.
 */
async function placeOf(setting: ReplicaSetting, caller: Caller, named: string | undefined): Promise<ReplicaPlace> {
  if (named !== undefined) return openFor(setting.workspaces, caller, named);
  // The server may be about to begin the history of its folder: before that, it is no workspace.
  const own = await setting.defaultWorkspace();
  const seen = (await setting.store.workspaces()).filter((one) => seesShape(caller, one) && one.archived !== true);
  const [only, second] = seen.some(({ id }) => id === own) ? seen.filter(({ id }) => id === own) : seen;
  if (only === undefined) {
    const isBound = caller.workspaces !== undefined;
    throw new ChronicleError(
      "NOT_FOUND",
      isBound ? "no workspace that this token is for is there" : "there is no workspace to replicate",
      { hint: "on the origin's machine: start the server in the folder that is meant, or `workspaces create NAME`" },
    );
  }
  if (second === undefined) return openFor(setting.workspaces, caller, only.id);
  throw new ChronicleError("AMBIGUOUS", `the server has ${seen.length} workspaces`, {
    hint: "say which one is meant, by its id or name",
    data: { workspaces: seen.slice(0, MOST_LISTED).map(({ id, name }) => name ?? id) },
  });
}

const MOST_LISTED = 20;

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
