import { Agent, type ClientRequest, type IncomingMessage, request, type RequestOptions } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isBytes, type Transport, type WireReply, type WireRequest, unavailable } from "./transport.ts";
import { optional } from "../util/optional.ts";
import { ChronicleError } from "../core/values/errors.ts";
import { ChronicleClient } from "./chronicle-client.ts";
import { type ClientOptions, mustHaveUrl, parseServerUrl, createClient as createFetchClient } from "./create-client.ts";
import { Wire } from "./wire.ts";

/**
 * Creates a client of a server, by its URL or its Unix socket (`unix:/path`). Does not send a request. Waits for
 * replies without a time limit. A given `fetch` may have a limit of its own. Throws `USAGE` for an invalid address.
 */
export function createClient({ url, fetch, ...options }: ClientOptions): ChronicleClient {
  mustHaveUrl(url);
  if (!url.startsWith("unix:") && fetch !== undefined) return createFetchClient({ url, fetch, ...options });
  if (!url.startsWith("unix:")) {
    const base = parseServerUrl(url);
    return new ChronicleClient(new Wire(NodeTransport.toPort(base), options), base);
  }
  const socket = url.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
  if (!socket.startsWith("/")) throw new ChronicleError("USAGE", "the path of a socket is absolute: unix:/path");
  return new ChronicleClient(new Wire(NodeTransport.overSocket(socket), options), `unix:${socket}`);
}

/**
 * The options of connection agents. After 30 s without traffic, the operating system begins to send keep-alive probes.
 * The probes detect a vanished server.
 */
const AGENT = { keepAlive: true, keepAliveInitialDelay: 30_000 };

interface Way {
  readonly request: typeof request;
  readonly agent: Agent;
}

interface Place {
  /** The address that errors show. */
  readonly where: string;
  /** The path in the server's URL. It precedes the target of each request. */
  readonly prefix: string;
  readonly to: RequestOptions;
  readonly way: () => Promise<Way>;
}

/**
 * Sends requests with `node:http`, over a Unix socket or to a port. Does not use Node's `fetch`, because `fetch` gives
 * up after five minutes, and the verification of a large history may take longer.
 */
class NodeTransport implements Transport {
  readonly #place: Place;
  #way: Promise<Way> | undefined;

  private constructor(place: Place) {
    this.#place = place;
  }

  static overSocket(path: string): NodeTransport {
    const to = { socketPath: path, headers: { host: "localhost" } };
    return new NodeTransport({ where: path, prefix: "", to, way: plainly });
  }

  /** `base` is a URL without a slash at its end. The target of a request is appended to `base`. */
  static toPort(base: string): NodeTransport {
    const { protocol, hostname, port, pathname } = new URL(base);
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const to = { host, ...(port === "" ? {} : { port }) };
    const way = protocol === "https:" ? encrypted : plainly;
    return new NodeTransport({ where: base, prefix: pathname.replace(/\/$/, ""), to, way });
  }

  async send({ method, target, headers, body, signal }: WireRequest): Promise<WireReply> {
    const { where, prefix, to } = this.#place;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const length = isBytes(body) ? { "content-length": String(body.length) } : {};
    this.#way ??= this.#place.way();
    const { request: begin, agent } = await this.#way;
    let sent: ClientRequest | undefined;
    try {
      sent = begin({
        ...to,
        agent,
        method,
        path: `${prefix}${target}`,
        headers: { ...to.headers, ...headers, ...length },
        ...optional({ signal }),
      });
      sent.once("response", resolve).once("error", reject);
      const upload = this.#upload(sent, body);
      // Do not await the upload, because a server may refuse a request before it has read the whole body.
      upload.catch(reject);
      return this.#replyOf(await promise);
    } catch (cause) {
      sent?.destroy();
      throw unavailable(where, firstOf(cause));
    }
  }

  async close(): Promise<void> {
    (await this.#way)?.agent.destroy();
  }

  async #upload(sent: ClientRequest, body: WireRequest["body"]): Promise<void> {
    if (body === undefined || isBytes(body)) sent.end(body);
    else await pipeline(Readable.from(body, { objectMode: false }), sent);
  }

  #replyOf(response: IncomingMessage): WireReply {
    const { statusCode: status = 0 } = response;
    return {
      status,
      header: (name) => {
        const value = response.headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      },
      body: piecesOf(response, this.#place.where),
      discard: async () => {
        response.destroy();
        await Promise.resolve();
      },
    };
  }
}

/**
 * If all addresses of a host name failed, returns the first error, because the message of Node's `AggregateError` gives
 * no reason. Returns any other error unchanged.
 */
function firstOf(cause: unknown): unknown {
  const [first]: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [];
  return first ?? cause;
}

function plainly(): Promise<Way> {
  return Promise.resolve({ request, agent: new Agent(AGENT) });
}

/** Loads TLS when it is needed. Most commands use a socket and need no TLS. */
async function encrypted(): Promise<Way> {
  const https = await import("node:https");
  return { request: https.request, agent: new https.Agent(AGENT) };
}

async function* piecesOf(response: IncomingMessage, where: string): AsyncIterable<Uint8Array> {
  try {
    for await (const piece of response) yield piece as Uint8Array;
  } catch (cause) {
    throw unavailable(where, cause);
  }
}
