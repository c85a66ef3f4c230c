import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { isBytes } from "./is-bytes.ts";
import type { Transport, WireReply, WireRequest } from "./transport.ts";
import { unavailable } from "./unavailable.ts";

/** Requests over a Unix socket. */
export class SocketTransport implements Transport {
  readonly #socket: string;
  readonly #agent = new Agent({ keepAlive: true });

  constructor(socket: string) {
    this.#socket = socket;
  }

  async send({ method, target, headers, body, signal }: WireRequest): Promise<WireReply> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const length = isBytes(body) ? { "content-length": String(body.length) } : {};
    const sent = request({
      socketPath: this.#socket,
      agent: this.#agent,
      method,
      path: target,
      headers: { host: "localhost", ...headers, ...length },
      ...(signal === undefined ? {} : { signal }),
    });
    sent.once("response", resolve).once("error", reject);
    const upload = this.#upload(sent, body);
    // A server may answer, and refuse, before it has read everything.
    upload.catch(reject);
    try {
      return this.#replyOf(await promise);
    } catch (cause) {
      sent.destroy();
      throw unavailable(this.#socket, cause);
    }
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    await Promise.resolve();
  }

  async #upload(sent: ClientRequest, body: WireRequest["body"]): Promise<void> {
    if (body === undefined || isBytes(body)) sent.end(body);
    else await pipeline(Readable.from(body, { objectMode: false }), sent);
  }

  #replyOf(response: IncomingMessage): WireReply {
    const body = piecesOf(response, this.#socket);
    return {
      status: response.statusCode ?? 0,
      header: (name) => {
        const value = response.headers[name];
        return Array.isArray(value) ? value.join(", ") : value;
      },
      body,
      discard: async () => {
        response.destroy();
        await Promise.resolve();
      },
    };
  }
}

async function* piecesOf(response: IncomingMessage, socket: string): AsyncIterable<Uint8Array> {
  try {
    for await (const piece of response) yield piece as Uint8Array;
  } catch (cause) {
    throw unavailable(socket, cause);
  }
}
