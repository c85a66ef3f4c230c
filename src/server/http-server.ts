import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { problemReply } from "./problem-reply.ts";
import { matchRoute, type Route, type ServerReply } from "./route.ts";

/** Far below Node's own limits: whoever is slow or half gone holds nothing. Milliseconds, counts, bytes. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 5_000,
  maxHeaderSize: 16 * 1024,
  maxConnections: 1_000,
} as const;

export interface HttpServerOptions {
  readonly routes: readonly Route[];
  /** Asked before each request; an answer is given instead of the route's. */
  readonly guard?: (request: IncomingMessage) => ServerReply | undefined;
  /** What nobody expected; the client gets a 500 without its words. */
  readonly onError: (error: unknown) => void;
}

/** A body that is larger than the route takes. */
class BodyTooLarge extends Error {}

/** Answers HTTP on a socket, by a table of routes. Knows when it was last busy, and ends without dropping work. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  #busy = 0;
  #idleSince = Date.now();
  #whenQuiet: (() => void) | undefined;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer(
      { ...LIMITS, noDelay: true },
      (request, response) => void this.#serve(request, response),
    );
    this.#server.maxConnections = LIMITS.maxConnections;
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  /** Listens on a Unix socket, which only its owner may use (0600). Throws system errors. */
  listen(socket: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#server.once("error", reject);
    // The socket is made within this call: nobody can connect before its mode is right.
    const before = process.umask(0o177);
    try {
      this.#server.listen(socket, resolve);
    } finally {
      process.umask(before);
    }
    return promise;
  }

  /** For how long nothing was asked, in milliseconds; 0 while something is being answered. */
  idleMs(now: number): number {
    return this.#busy > 0 ? 0 : now - this.#idleSince;
  }

  /** Takes no more connections, and resolves once everything that was taken is answered. */
  async close(): Promise<void> {
    const closed = new Promise<void>((done) => this.#server.close(() => done()));
    this.#server.closeIdleConnections();
    if (this.#busy > 0) await new Promise<void>((done) => (this.#whenQuiet = done));
    this.#server.closeAllConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.#busy += 1;
    try {
      send(response, await this.#answer(request));
    } catch (error) {
      this.#options.onError(error);
      response.destroy();
    } finally {
      this.#busy -= 1;
      this.#idleSince = Date.now();
      if (this.#busy === 0) this.#whenQuiet?.();
    }
  }

  async #answer(request: IncomingMessage): Promise<ServerReply> {
    const { routes, guard, onError } = this.#options;
    const refused = guard?.(request);
    if (refused !== undefined) return refused;
    const { method = "GET" } = request;
    const [path = "/", search = ""] = (request.url ?? "/").split("?", 2);
    const found = matchRoute(routes, method, path);
    if (found === undefined) return problemReply(404, "NOT_FOUND", "there is nothing here");
    const { route, params } = found;
    try {
      const body = await bodyOf(request, route.maxBody);
      const query = new URLSearchParams(search);
      return await route.handle({ method, path, params, query, headers: request.headers, body });
    } catch (error) {
      if (error instanceof BodyTooLarge) return problemReply(413, "LIMIT_EXCEEDED", error.message);
      onError(error);
      return problemReply(500, "INTERNAL", "this request could not be answered");
    }
  }
}

async function bodyOf(request: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = new BodyTooLarge(`at most ${most} bytes are taken`);
  if (Number(request.headers["content-length"] ?? 0) > most) throw tooLarge;
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request) {
    const bytes = Buffer.from(piece as Uint8Array);
    size += bytes.length;
    if (size > most) throw tooLarge;
    pieces.push(bytes);
  }
  return Buffer.concat(pieces);
}

function send(response: ServerResponse, { status, headers, body }: ServerReply): void {
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  response.writeHead(status, { "x-content-type-options": "nosniff", ...headers, "content-length": bytes.length });
  response.end(bytes);
}
