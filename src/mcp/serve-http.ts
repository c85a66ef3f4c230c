import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import { type RequestHead, strangerOf, type ServedAddresses } from "../util/web-guard.ts";
import { makeServer, type ServerParts } from "./make-server.ts";

const MAX_BODY_BYTES = 4 * 1024 ** 2;

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_CONNECTIONS = 100;

interface HttpOptions {
  /** The port to listen on. With 0, the system chooses a free port. */
  readonly port: number;
  /** Each request must contain this token: `Authorization: Bearer <token>`. */
  readonly token: string;
}

interface RunningHttp {
  readonly url: string;
  /** Ends the open requests and all connections. */
  close(): Promise<void>;
}

/**
 * Serves MCP over HTTP at `/mcp` on 127.0.0.1. Rejects if the port cannot be opened, for example because it is in use.
 */
export async function serveHttp(parts: ServerParts, { port, token }: HttpOptions): Promise<RunningHttp> {
  const onerror = (error: Error) => parts.report(error.message);
  const handler = createMcpHandler(() => makeServer(parts), { onerror, maxRequestBodySize: MAX_BODY_BYTES });
  const server = createServer({ headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS });
  server.maxConnections = MAX_CONNECTIONS;
  await listen(server, port);
  const { port: actual } = server.address() as AddressInfo;
  const serving: Serving = { handler, port: actual, admission: new LoopbackAdmission(actual, token) };
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    answer(request, response, serving).catch((error: unknown) => {
      onerror(error instanceof Error ? error : new Error(String(error)));
      response.destroy();
    });
  });
  return {
    url: `http://127.0.0.1:${actual}/mcp`,
    close: async () => {
      await handler.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function listen(server: HttpServer, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

interface Serving {
  readonly handler: McpHttpHandler;
  readonly port: number;
  readonly admission: LoopbackAdmission;
}

async function answer(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  const { headers: given, rawHeaders, url = "" } = request;
  const refused = serving.admission.refusalOf({ headers: given, rawHeaders, url });
  if (refused !== undefined) return refuse(response, refused.status, refused.message);
  const body = await bodyOf(request);
  if (body === undefined) return refuse(response, 413, "the request is too large");
  const gone = new AbortController();
  response.on("close", () => gone.abort());
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (typeof value === "string") headers.set(name, value);
  }
  const method = request.method ?? "GET";
  const hasBody = method !== "GET" && method !== "HEAD";
  const asked = new Request(`http://127.0.0.1:${serving.port}/mcp`, {
    ...{ method, headers, signal: gone.signal },
    ...(hasBody ? { body } : {}),
  });
  await hand(await serving.handler.fetch(asked), response);
}

/** Returns the body; `undefined` if it has more than `MAX_BODY_BYTES`. */
async function bodyOf(request: IncomingMessage): Promise<Buffer<ArrayBuffer> | undefined> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    size += piece.length;
    if (size > MAX_BODY_BYTES) return undefined;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

async function hand(answered: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (answered.body !== null) {
    for await (const piece of answered.body) {
      if (response.destroyed) return;
      if (!response.write(piece))
        await new Promise<void>((resolve) => response.once("drain", resolve).once("close", resolve));
    }
  }
  response.end();
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = {
    "content-type": "application/json",
    connection: "close",
    ...(status === 401 ? { "www-authenticate": "Bearer" } : {}),
  };
  response.writeHead(status, headers);
  response.end(JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32_000, message } }));
}

interface Refusal {
  readonly status: number;
  readonly message: string;
}

const HOSTS = ["127.0.0.1", "localhost", "[::1]"];

/** Admits a request only if it is for `/mcp`, if it has the token, and if `strangerOf` accepts its head. */
class LoopbackAdmission {
  readonly #served: ServedAddresses;
  readonly #token: Buffer;

  constructor(port: number, token: string) {
    const hosts = HOSTS.map((host) => `${host}:${port}`);
    this.#served = { hosts, origins: hosts.map((host) => `http://${host}`), sharedWith: [] };
    this.#token = digestOf(token);
  }

  /** Returns the refusal of a request; `undefined` if the request is admitted. Needs only the head of the request. */
  refusalOf(head: RequestHead): Refusal | undefined {
    const stranger = strangerOf(head, this.#served);
    if (stranger !== undefined) return { status: stranger.status, message: stranger.detail };
    if (!this.#isBearer(head.headers.authorization)) {
      return { status: 401, message: "give the server's token: Authorization: Bearer TOKEN" };
    }
    return head.url === "/mcp" ? undefined : { status: 404, message: "this server answers only at /mcp" };
  }

  /**
   * Returns true if the header has the token. Compares digests, so that the time reveals neither the length of the
   * token nor how much of it matches.
   */
  #isBearer(authorization: string | undefined): boolean {
    const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
    return timingSafeEqual(digestOf(given), this.#token);
  }
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
