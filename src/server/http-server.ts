import { type Server, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket, AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer } from "node:https";
import { makeProblem, type Problem, type Report, unexpectedProblem } from "./answers/problem.ts";
import type { Role } from "../api/routes/role.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Caller } from "./callers/caller.ts";
import type { ServerLimits } from "./limits/limits.ts";
import { ConcurrencyLimit, ConnectionLimit } from "./limits/concurrency-limit.ts";
import { Admission, type AdmittedRequest } from "./callers/admission.ts";
import { answerQuickly, sendReply } from "./answers/answer-quickly.ts";
import { shareWith } from "./callers/cors.ts";
import type { Listener } from "./callers/listener.ts";
import { endUpgrade, sendProblem } from "./answers/send.ts";
import type { Refusal } from "./callers/authenticate.ts";
import type { RequestTally } from "./limits/metrics.ts";
import { matchRoute, type RouteMatch, type ServerRoute, type ServerReply } from "./answers/server-route.ts";

/** Answers the requests that no quick route answers (see `makeApp`). */
export interface ServerApp {
  answer(request: IncomingMessage, response: ServerResponse, visit: AdmittedRequest): void;
  /** If absent, upgrades are refused. */
  upgrade?(request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade): void;
  close(): Promise<void>;
}

/**
 * An admitted request to upgrade a connection to another protocol. `head` has the bytes that were received after the
 * request and belong to this protocol.
 */
export interface AdmittedUpgrade extends AdmittedRequest {
  readonly head: Buffer;
}

interface HttpServerOptions {
  /** The quick routes. They are answered without loading the app, because hooks must not be slow. */
  readonly routes: readonly ServerRoute[];
  /** Called before each request on a Unix socket is admitted. A returned reply is sent, and ends the request. */
  readonly guard?: (request: IncomingMessage) => ServerReply | undefined;
  readonly admission: Admission;
  /** Loads the app. Called once, and called again only if loading has failed. */
  readonly app: (stopping: AbortSignal) => Promise<ServerApp>;
  /** Handles connections of a Unix socket that use the replication protocol. If absent, the socket serves only HTTP. */
  readonly replicas?: (socket: Socket) => void;
  /** Called with unexpected errors, whose messages the client does not get. */
  readonly onError: (error: unknown) => void;
  /**
   * Called with a line for the diagnostics about an unexpected error of a request. The line has the id that was sent to
   * the client. Default: `onError`.
   */
  readonly report?: Report;
  readonly limits: ServerLimits;
  readonly tally?: RequestTally;
}

export interface PortPlace {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** The certificate and its key, as PEM. If absent, the port does not use TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** The time, in ms, for which `close` still accepts requests that have already arrived. */
const SETTLE_MS = 20;

/** The maximum time, in ms, for which `close` waits until the last refusals are sent. */
const FLUSH_MS = 250;

export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #servers: Server[] = [];
  readonly #stopping = new AbortController();
  #app: Promise<ServerApp> | undefined;
  readonly #unanswered = new Set<ServerResponse>();
  readonly #slots: RequestConcurrency;
  /** The number of requests in progress, and of open connections that do not use HTTP. */
  #busy = 0;
  #idleSince = Date.now();
  #whenQuiet: (() => void) | undefined;
  /** Functions that close the connections whose protocol is not known yet. */
  readonly #cutSilent: (() => void)[] = [];

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#slots = new RequestConcurrency(options.limits);
  }

  /** Listens on a Unix socket. The socket has mode 0600, so that only its owner can connect. Throws system errors. */
  async listen(socket: string): Promise<void> {
    const server = this.#add(createServer(this.#nodeOptions()), { kind: "socket" });
    this.#sniffReplicas(server);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    // `listen` creates the socket synchronously. Therefore, the socket has the right mode before any client can
    // connect.
    const before = process.umask(0o177);
    try {
      server.listen(socket, resolve);
    } finally {
      process.umask(before);
    }
    return promise;
  }

  #sniffReplicas(server: Server): void {
    const { replicas, limits } = this.#options;
    if (replicas === undefined) return;
    const take = (socket: Socket): void => {
      this.#enter();
      socket.once("close", () => this.#exit());
      if (this.#stopping.signal.aborted) socket.destroy();
      else replicas(socket);
    };
    this.#cutSilent.push(sniffProtocol(server, { take, withinMs: limits.headersMs }));
  }

  /** Opens a port, and returns its number. `listenerOf` makes the `Listener` for that number. Throws system errors. */
  async listenOn({ host, port, tls }: PortPlace, listenerOf: (port: number) => Listener): Promise<number> {
    const options = this.#nodeOptions();
    const server =
      tls === undefined
        ? createServer(options)
        : createTlsServer({ ...options, ...tls, handshakeTimeout: options.headersTimeout });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    // The `Listener` needs the number of the port. No request is served before `#add`.
    server.listen({ host, port, ipv6Only: host.includes(":") }, resolve);
    await promise;
    const actual = (server.address() as AddressInfo).port;
    // A port can be opened at any time, even during `close`. But `close` does not know a server that is added after
    // `close` has begun.
    if (this.#stopping.signal.aborted) {
      server.close();
      throw new ChronicleError("UNAVAILABLE", "this server is being ended");
    }
    this.#add(server, listenerOf(actual));
    return actual;
  }

  /** Returns the time in milliseconds since the last request ended; 0 while a request is in progress. */
  idleMs(now: number): number {
    return this.#busy > 0 ? 0 : now - this.#idleSince;
  }

  /**
   * Accepts no more requests. Waits for at most `drainMs` until the requests in progress are answered. Then refuses the
   * unanswered requests, closes all connections, and closes the app.
   */
  async close(): Promise<void> {
    // Wait, because Node would close a connection as idle if its request has arrived but was not read yet.
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const closed = this.#servers.map((server) => new Promise<void>((done) => server.close(() => done())));
    this.#stopping.abort();
    for (const server of this.#servers) server.closeIdleConnections();
    for (const cut of this.#cutSilent) cut();
    await this.#quiet(this.#options.limits.drainMs);
    await this.#refuseLate();
    for (const server of this.#servers) server.closeAllConnections();
    await Promise.all(closed);
    // An app that could not be loaded need not be closed.
    await (await this.#app?.catch(() => undefined))?.close();
  }

  /** Loads the app, so that the first request need not wait for it. */
  async warmUp(): Promise<void> {
    await this.#loadApp();
  }

  async #refuseLate(): Promise<void> {
    const late = [...this.#unanswered].filter(({ headersSent }) => !headersSent);
    for (const response of late) sendRefusal(response, tooLate(this.#options.limits.drainMs));
    if (late.length > 0) await this.#quiet(FLUSH_MS);
  }

  /** Resolves once no request is in progress, or after `ms`. */
  async #quiet(ms: number): Promise<void> {
    if (this.#busy === 0) return;
    const quiet = new Promise<void>((done) => (this.#whenQuiet = done));
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    await Promise.race([quiet, promise]);
    clearTimeout(timer);
  }

  #nodeOptions() {
    const { limits } = this.#options;
    return {
      headersTimeout: limits.headersMs,
      // There is no limit, because an upload may take any time as long as it makes progress. Bodies have their own
      // limits.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
      maxHeaderSize: limits.headerBytes,
      noDelay: true,
      // TCP keep-alive detects clients that vanished without closing the connection.
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
    };
  }

  #add(server: Server, listener: Listener): Server {
    const { limits } = this.#options;
    const connections = listener.kind === "tcp" ? new ConnectionLimit(limits.connections) : undefined;
    if (connections === undefined) server.maxConnections = limits.connections;
    else server.on("connection", (socket) => connections.enter(socket));
    server.maxRequestsPerSocket = limits.requestsPerSocket;
    server.maxHeadersCount = 100;
    server.on("clientError", endBadConnection);
    server.on("tlsClientError", (_error, socket) => socket.destroy());
    const serve = (request: IncomingMessage, response: ServerResponse): void => {
      if (connections !== undefined) response.once("close", connections.busy(request.socket));
      void this.#serve(request, response, listener);
    };
    server.on("request", serve);
    // Serve requests with any other `Expect` than `100-continue`, too. Otherwise, Node would answer 417 before the
    // caller is checked.
    server.on("checkExpectation", serve);
    server.on("upgrade", (request, socket, head) => {
      const leave = connections?.busy(request.socket);
      void this.#upgrade(request, socket, { listener, head }).then((isIn) => isIn || leave?.());
    });
    this.#servers.push(server);
    return server;
  }

  async #serve(request: IncomingMessage, response: ServerResponse, listener: Listener): Promise<void> {
    this.#enter();
    this.#unanswered.add(response);
    cutOffWhoTakesNothing(response, this.#options.limits.slowMs);
    response.once("close", () => {
      this.#unanswered.delete(response);
      this.#exit();
    });
    const { routes, guard, tally } = this.#options;
    tally?.enter(request, response);
    try {
      if (this.#stopping.signal.aborted) return sendRefusal(response, leaving());
      const early = listener.kind === "socket" ? guard?.(request) : undefined;
      if (early !== undefined) return sendReply(response, early);
      if (listener.kind === "tcp" && shareWith(request, response, listener)) return;
      const found = routeOf(routes, request, listener);
      if (found !== undefined) tally?.name(request, found.route.path);
      const { open = false, fromLinks = false } = found?.route ?? {};
      const admitted = await this.#admit(request, response, { listener, isOpen: open, fromLinks });
      if ("status" in admitted) return sendRefusal(response, admitted);
      const { isOwner } = admitted.caller;
      if (found !== undefined && isAnswered(found.route, admitted.caller))
        return await answerQuickly(request, response, { found, isOwner, report: this.#report });
      if (found?.route.forOperators === true) return sendRefusal(response, FOR_OPERATORS);
      (await this.#loadApp()).answer(request, response, admitted);
    } catch (error) {
      sendProblem(response, unexpectedProblem(error, { report: this.#report }));
    }
  }

  get #report(): Report {
    const { report, onError } = this.#options;
    return report ?? ((_line, error) => onError(error));
  }

  /** Returns true if the connection now uses the other protocol. */
  async #upgrade(
    request: IncomingMessage,
    socket: Duplex,
    { listener, head }: { readonly listener: Listener; readonly head: Buffer },
  ): Promise<boolean> {
    this.#enter();
    socket.once("close", () => this.#exit());
    socket.on("error", () => socket.destroy());
    try {
      const admitted = this.#stopping.signal.aborted ? leaving() : await this.#admit(request, socket, { listener });
      const app = "status" in admitted ? undefined : await this.#loadApp();
      if ("status" in admitted || app?.upgrade === undefined) {
        endUpgrade(socket, "status" in admitted ? admitted.status : 404);
        return false;
      }
      app.upgrade(request, socket, { ...admitted, head });
      return true;
    } catch (error) {
      this.#options.onError(error);
      socket.destroy();
      return false;
    }
  }

  /**
   * Returns the admitted request, or a refusal. An admitted request takes a slot of the concurrency limit until its
   * answer is sent. After an upgrade, the slot is taken until the connection is closed.
   */
  async #admit(
    request: IncomingMessage,
    taker: ServerResponse | Duplex,
    { listener, isOpen = false, fromLinks = false }: Wanted,
  ): Promise<AdmittedRequest | Refusal> {
    const admitted = await this.#options.admission.admit(request, listener, { isOpen, fromLinks });
    // Open routes, such as health checks, are answered at once, and take no slot.
    if ("status" in admitted || isOpen) return admitted;
    const slot = this.#slots.take(admitted.caller);
    if (slot === undefined) return TOO_MANY;
    const giveBack = (): void => slot[Symbol.dispose]();
    taker.once("close", giveBack);
    // If the client left during the admission, "close" was emitted before the listener was added.
    if (taker.destroyed) giveBack();
    return admitted;
  }

  #loadApp(): Promise<ServerApp> {
    if (this.#app !== undefined) return this.#app;
    const loading = this.#options.app(this.#stopping.signal);
    this.#app = loading;
    // The next request tries again, because the failure (a full disk, too many open files) may be temporary.
    loading.catch(() => {
      if (this.#app === loading) this.#app = undefined;
    });
    return loading;
  }

  #enter(): void {
    this.#busy += 1;
  }

  #exit(): void {
    this.#busy -= 1;
    this.#idleSince = Date.now();
    if (this.#busy === 0) this.#whenQuiet?.();
  }
}

interface Wanted {
  readonly listener: Listener;
  readonly isOpen?: boolean;
  readonly fromLinks?: boolean;
}

/** Returns the quick route for a request, if there is one. */
function routeOf(
  routes: readonly ServerRoute[],
  { method = "GET", url = "/" }: IncomingMessage,
  listener: Listener,
): RouteMatch | undefined {
  const [path = "/"] = url.split("?", 1);
  return matchRoute(routes, { method, path, hasPage: listener.kind === "tcp" && listener.page !== undefined });
}

/** True if the quick route answers this caller. Other callers get `FOR_OPERATORS`, or the answer of the app. */
function isAnswered({ open, forOperators }: ServerRoute, { isOwner, role, workspaces }: Caller): boolean {
  if (open === true || isOwner) return true;
  return forOperators === true && role === "operator" && workspaces === undefined;
}

/**
 * Closes the connection if the client reads nothing for `ms` after the whole answer was written. Node treats bytes as
 * read once they have left the process.
 */
function cutOffWhoTakesNothing(response: ServerResponse, ms: number): void {
  response.once("prefinish", () => response.setTimeout(ms));
  // End the timeout, because the next answer on the connection may take any time. This listener must run first, because
  // a later listener of Node sets the idle timeout of the connection.
  response.prependOnceListener("finish", () => response.setTimeout(0));
}

const TOO_MANY: Refusal = {
  status: 429,
  code: "RATE_LIMITED",
  detail: "too many requests at once: with this token, with tokens of its role, or in all",
  headers: { "retry-after": "1" },
};

const FOR_OPERATORS: Refusal = {
  status: 403,
  code: "FORBIDDEN",
  detail: "this is for an operator of the whole store",
};

function tooLate(ms: number): Refusal {
  const { status, code, headers = {} } = leaving();
  const detail = `this server is being ended, and has not answered within ${ms / 1000} s; a change may be made all the same`;
  return { status, code, detail, headers };
}

function leaving(): Refusal {
  return { status: 503, code: "UNAVAILABLE", detail: "this server is being ended", headers: { connection: "close" } };
}

function sendRefusal(response: ServerResponse, { status, code, detail, headers }: Refusal): void {
  sendProblem(response, makeProblem(status, code, detail), headers);
}

/**
 * The first bytes of a frame of the replication protocol (docs/protocol.md). No HTTP method begins with these bytes.
 */
const MARK = Buffer.from("CHR");

interface SniffOptions {
  /** Takes over a connection that begins with a frame. The bytes received so far can be read from the socket again. */
  readonly take: (socket: Socket) => void;
  /** The time after which a connection whose protocol is still unknown is closed, in milliseconds. */
  readonly withinMs: number;
}

/**
 * Detects by the first bytes of a connection whether it uses HTTP or replication. One Unix socket serves both. Returns
 * a function that closes the connections whose protocol is not known yet.
 */
function sniffProtocol(server: Server, { take, withinMs }: SniffOptions): () => void {
  const serve = server.listeners("connection");
  const silent = new Set<Socket>();
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    silent.add(socket);
    const cut = (): void => void socket.destroy();
    const timer = setTimeout(cut, withinMs);
    const done = (): void => {
      clearTimeout(timer);
      silent.delete(socket);
      socket.off("readable", look).off("error", cut).off("close", done);
    };
    let begun = Buffer.alloc(0);
    const look = (): void => {
      const piece: Buffer | null = socket.read();
      // If there is no piece, the connection has ended before its protocol was known.
      if (piece === null) return;
      begun = Buffer.concat([begun, piece]);
      const isFrame = MARK.subarray(0, begun.length).equals(begun.subarray(0, MARK.length));
      if (isFrame && begun.length < MARK.length) return;
      done();
      socket.unshift(begun);
      if (isFrame) take(socket);
      else for (const listener of serve) listener.call(server, socket);
    };
    socket.on("readable", look).on("error", cut).on("close", done);
  });
  return () => {
    for (const socket of silent) socket.destroy();
  };
}

const KNOWN: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: makeProblem(431, "LIMIT_EXCEEDED", "the headers of this request are too large"),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: makeProblem(413, "LIMIT_EXCEEDED", "the chunk extensions of this body are too long"),
  ERR_HTTP_REQUEST_TIMEOUT: makeProblem(408, "USAGE", "this request took too long to arrive"),
};
const MALFORMED = makeProblem(400, "USAGE", "this request is not well formed");

/**
 * Called if the bytes of a connection are not valid HTTP or arrived too slowly, or if the connection fails. Sends a
 * problem, unless the connection has failed or something was already sent on it. Closes the connection.
 */
function endBadConnection(error: Error, socket: Duplex & { readonly bytesWritten?: number }): void {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const isOurs = code.startsWith("HPE_") || Object.hasOwn(KNOWN, code);
  // If an answer has begun, the client would read the problem as a part of it.
  if (!isOurs || !socket.writable || (socket.bytesWritten ?? 0) > 0) {
    socket.destroy();
    return;
  }
  const problem = KNOWN[code] ?? MALFORMED;
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    "Content-Type: application/problem+json",
    "X-Content-Type-Options: nosniff",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}

/**
 * Limits the requests in progress per token, per role and in total. Event streams and connections of other protocols
 * count, too, and can last for days. The limits of readers and agents leave slots for operators. The total limit leaves
 * connections for health checks.
 */
class RequestConcurrency {
  readonly #ofToken: Readonly<Record<Role, ConcurrencyLimit>>;
  readonly #ofRole: Readonly<Record<Role, ConcurrencyLimit>>;
  readonly #ofAll: ConcurrencyLimit;

  constructor({ connections, atOnce }: Pick<ServerLimits, "connections" | "atOnce">) {
    const slots = (share: number): ConcurrencyLimit =>
      new ConcurrencyLimit(Math.max(1, Math.floor(connections * share)));
    const { reader, agent, operator, all } = atOnce;
    this.#ofToken = { reader: slots(reader.token), agent: slots(agent.token), operator: slots(operator.token) };
    this.#ofRole = { reader: slots(reader.role), agent: slots(agent.role), operator: slots(operator.role) };
    this.#ofAll = slots(all);
  }

  /**
   * Takes a slot for a request. Disposing of the result releases the slot. Returns `undefined` if the limit of the
   * token, its role or the server is reached.
   */
  take({ id, role, isOwner }: Caller): Disposable | undefined {
    if (isOwner) return NONE;
    const ofToken = this.#ofToken[role].take(id);
    const ofRole = ofToken && this.#ofRole[role].take(role);
    const ofAll = ofRole && this.#ofAll.take("");
    // A `DisposableStack` would take more time per request than the limits themselves.
    const giveBack = (): void => {
      ofToken?.[Symbol.dispose]();
      ofRole?.[Symbol.dispose]();
      ofAll?.[Symbol.dispose]();
    };
    if (ofAll !== undefined) return { [Symbol.dispose]: giveBack };
    giveBack();
    return undefined;
  }
}

const NONE: Disposable = { [Symbol.dispose]: () => undefined };
