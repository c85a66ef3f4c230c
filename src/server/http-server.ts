import { type Server, createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket, AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { createServer as createTlsServer } from "node:https";
import { makeProblem, type Problem, type Report, unexpectedProblem } from "./answers/problem.ts";
import type { Role } from "../api/routes/role.ts";
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
import { matchRoute, type Route, type ServerReply } from "./answers/route.ts";

/** The first bytes of the frames of the replication protocol (docs/protocol.md). No method of HTTP begins with them. */
const MARK = Buffer.from("CHR");

interface OtherPeers {
  /** Takes a connection that speaks in frames; the bytes received so far can be read from the socket again. */
  readonly take: (socket: Socket) => void;
  /** A connection whose protocol is not known after this time, in milliseconds, is cut off. */
  readonly withinMs: number;
}

/**
 * Has an HTTP server tell HTTP from replication by the first bytes of a connection: one Unix socket serves both.
 * Returns a function that cuts the connections that have sent nothing yet.
 */
function sniffProtocol(server: Server, { take, withinMs }: OtherPeers): () => void {
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
      // Its end, before a word.
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

/** Problems by the error codes of Node's parser and timers. */
const KNOWN: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: makeProblem(431, "LIMIT_EXCEEDED", "the headers of this request are larger than is taken here"),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: makeProblem(
    413,
    "LIMIT_EXCEEDED",
    "the chunks of this body say too much of themselves",
  ),
  ERR_HTTP_REQUEST_TIMEOUT: makeProblem(408, "USAGE", "this request took too long to arrive"),
};
const MALFORMED = makeProblem(400, "USAGE", "this request is not well formed");

/**
 * Tells a client why its connection is closed, if nothing was answered on it yet: bytes that are not HTTP make no
 * request that could be answered. Does nothing if the client is gone.
 */
function endBadConnection(error: Error, socket: Duplex & { readonly bytesWritten?: number }): void {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const isOurs = code.startsWith("HPE_") || Object.hasOwn(KNOWN, code);
  // In the middle of an answer, the client would take this for a part of it.
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
 * Limits the requests in progress, including streams and other protocols, which may go on for days: per token, per
 * role, and in all. The limits of readers and agents leave room for operators, and the total leaves room for health
 * checks, so that none of these can be shut out.
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
   * Takes a place for one request, to be given back; `undefined` if the token, its role or the server is at its limit.
   */
  take({ id, role, isOwner }: Caller): Disposable | undefined {
    if (isOwner) return NONE;
    const ofToken = this.#ofToken[role].take(id);
    const ofRole = ofToken && this.#ofRole[role].take(role);
    const ofAll = ofRole && this.#ofAll.take("");
    // A stack of disposables would cost every request more than the limits themselves.
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

/** Answers all requests that the quick routes do not: see `makeApp`. */
export interface ServerApp {
  answer(request: IncomingMessage, response: ServerResponse, visit: AdmittedRequest): void;
  /** Takes an upgrade to another protocol. Absent: there is none. */
  upgrade?(request: IncomingMessage, socket: Duplex, visit: AdmittedUpgrade): void;
  close(): Promise<void>;
}

/** An upgrade, and the bytes of the other protocol received so far. */
export interface AdmittedUpgrade extends AdmittedRequest {
  readonly head: Buffer;
}

interface HttpServerOptions {
  /** Answered without loading the rest of the server: hooks have no time to lose. */
  readonly routes: readonly Route[];
  /** Called before each request on a Unix socket; its reply, if any, replaces the route's. */
  readonly guard?: (request: IncomingMessage) => ServerReply | undefined;
  readonly admission: Admission;
  /** Loads the app for all other requests, once. */
  readonly app: (stopping: AbortSignal) => Promise<ServerApp>;
  /** Takes connections of a Unix socket that speak the replication protocol. Absent: protocols are not told apart. */
  readonly replicas?: (socket: Socket) => void;
  /** Takes unexpected errors; the client gets a 500 without their words. */
  readonly onError: (error: unknown) => void;
  /** Like `onError`, for a request whose client was told an id; default: `onError`. */
  readonly report?: Report;
  readonly limits: ServerLimits;
  readonly tally?: RequestTally;
}

/** A port to listen on. */
export interface PortPlace {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** PEM. */
  readonly tls?: { readonly cert: string; readonly key: string };
}

/** Time for reading what has already arrived, in milliseconds. */
const SETTLE_MS = 20;
/** Time for a last reply to reach the client, in milliseconds. */
const FLUSH_MS = 250;

/** Answers HTTP on sockets and ports. Knows its idle time, and closes without dropping accepted requests. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #servers: Server[] = [];
  readonly #stopping = new AbortController();
  #app: Promise<ServerApp> | undefined;
  readonly #unanswered = new Set<ServerResponse>();
  readonly #slots: RequestConcurrency;
  #busy = 0;
  #idleSince = Date.now();
  #whenQuiet: (() => void) | undefined;
  /** Functions that cut connections whose protocol is not known yet. */
  readonly #cutSilent: (() => void)[] = [];

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#slots = new RequestConcurrency(options.limits);
  }

  /** Listens on a Unix socket, which only its owner may use (0600). Throws system errors. */
  async listen(socket: string): Promise<void> {
    const server = this.#add(createServer(this.#nodeOptions()), { kind: "socket" });
    this.#tellReplicas(server);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    // The socket is made within this call, so no client can connect before its mode is right.
    const before = process.umask(0o177);
    try {
      server.listen(socket, resolve);
    } finally {
      process.umask(before);
    }
    return promise;
  }

  #tellReplicas(server: Server): void {
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

  /** Listens on a port; `listenerOf` returns its listener. Resolves to the port. Throws system errors. */
  async listenOn({ host, port, tls }: PortPlace, listenerOf: (port: number) => Listener): Promise<number> {
    const options = this.#nodeOptions();
    const server =
      tls === undefined
        ? createServer(options)
        : createTlsServer({ ...options, ...tls, handshakeTimeout: options.headersTimeout });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    // The listener needs the number of the port: no request is answered before it is set.
    server.listen({ host, port, ipv6Only: host.includes(":") }, resolve);
    await promise;
    const actual = (server.address() as AddressInfo).port;
    this.#add(server, listenerOf(actual));
    return actual;
  }

  /** Milliseconds since the last request; 0 while one is being answered. */
  idleMs(now: number): number {
    return this.#busy > 0 ? 0 : now - this.#idleSince;
  }

  /** Accepts no more requests. Resolves once those accepted are answered, or their time is over. */
  async close(): Promise<void> {
    // A connection that was accepted but not read yet counts as idle, and would be closed with its request.
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    const closed = this.#servers.map((server) => new Promise<void>((done) => server.close(() => done())));
    this.#stopping.abort();
    for (const server of this.#servers) server.closeIdleConnections();
    for (const cut of this.#cutSilent) cut();
    await this.#quiet(this.#options.limits.drainMs);
    await this.#tellLate();
    for (const server of this.#servers) server.closeAllConnections();
    await Promise.all(closed);
    // If the app could not be loaded, there is nothing to close.
    await (await this.#app?.catch(() => undefined))?.close();
  }

  /** Loads the rest of the server before the first request. */
  async warmUp(): Promise<void> {
    await this.#loadApp();
  }

  /** Tells clients that still wait for an answer that there will be none. */
  async #tellLate(): Promise<void> {
    const late = [...this.#unanswered].filter(({ headersSent }) => !headersSent);
    for (const response of late) sendRefusal(response, tooLate(this.#options.limits.drainMs));
    if (late.length > 0) await this.#quiet(FLUSH_MS);
  }

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
      // Bodies have limits of their own: an upload may take long while it makes progress.
      requestTimeout: 0,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(1_000, limits.headersMs),
      maxHeaderSize: limits.headerBytes,
      noDelay: true,
      // TCP keep-alive finds clients that vanished without closing.
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
    // Node answers `Expect: 100-continue`, and the request is then served. To any other value Node would say 417 before
    // the caller is checked.
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
      const [path = "/"] = (request.url ?? "/").split("?", 1);
      const found = matchRoute(routes, request.method ?? "GET", path);
      if (found !== undefined) tally?.name(request, found.route.path);
      const admitted = await this.#admit(request, response, { listener, isOpen: found?.route.open === true });
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

  /** Resolves to true if the connection now speaks the other protocol. */
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
   * Admits a request. It counts towards the concurrency limit until its answer, or the connection of another protocol,
   * has ended.
   */
  async #admit(
    request: IncomingMessage,
    taker: ServerResponse | Duplex,
    { listener, isOpen = false }: { readonly listener: Listener; readonly isOpen?: boolean },
  ): Promise<AdmittedRequest | Refusal> {
    const admitted = await this.#options.admission.admit(request, listener, isOpen);
    // Health checks are answered at once, and do not count towards the concurrency limit.
    if ("status" in admitted || isOpen) return admitted;
    const slot = this.#slots.take(admitted.caller);
    if (slot === undefined) return TOO_MANY;
    const giveBack = (): void => slot[Symbol.dispose]();
    taker.once("close", giveBack);
    // The client may have gone during the admission.
    if (taker.destroyed) giveBack();
    return admitted;
  }

  #loadApp(): Promise<ServerApp> {
    if (this.#app !== undefined) return this.#app;
    const loading = this.#options.app(this.#stopping.signal);
    this.#app = loading;
    // A failure (a full disk, too many open files) may pass, so the next request loads again.
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

/** True if a quick route answers this caller. For others it does not exist. */
function isAnswered({ open, forOperators }: Route, { isOwner, role, workspaces }: Caller): boolean {
  if (open === true || isOwner) return true;
  return forOperators === true && role === "operator" && workspaces === undefined;
}

/**
 * Cuts off a client that takes nothing of a completely written answer for `ms`: then only the client can delay it.
 * Node counts bytes as taken once they have left the process.
 */
function cutOffWhoTakesNothing(response: ServerResponse, ms: number): void {
  response.once("prefinish", () => response.setTimeout(ms));
  // Runs before Node sets the idle timeout of the connection: the next answer on it may take as long as it needs.
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
  const detail = `this server is being ended, and has not done this within ${ms / 1000} s; a change may be done all the same`;
  return { status, code, detail, headers };
}

function leaving(): Refusal {
  return { status: 503, code: "UNAVAILABLE", detail: "this server is being ended", headers: { connection: "close" } };
}

function sendRefusal(response: ServerResponse, { status, code, detail, headers }: Refusal): void {
  sendProblem(response, makeProblem(status, code, detail), headers);
}
