import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { ChronicleError, type ErrorCode, errnoOf, STARTING } from "../../core/values/errors.ts";
import type { Channel, Wire } from "../channel.ts";
import { FramedChannel } from "../channels/framed-channel.ts";
import { SocketWire } from "../channels/socket-wire.ts";
import { WebSocketWire } from "../channels/web-socket-wire.ts";
import { MAX_FRAME_BYTES } from "../protocol/limits.ts";
import { optional } from "../../util/optional.ts";

export interface OriginAddress {
  /** `http(s)://HOST:PORT` or `ws(s)://HOST:PORT`, or `unix:/PATH` for the socket of a server. */
  readonly url: string;
  /** The token of this client. The token is sent only to a port, not to a Unix socket. */
  readonly token?: string;
  /**
   * The workspace, by id or name. The URL of the WebSocket also names the workspace, because a proxy can use this name
   * for routing.
   */
  readonly workspace?: string;
}

/** The timeout for the WebSocket handshake, or for connecting to a Unix socket, in ms. */
const HANDSHAKE_MS = 8_000;
/** The timeout for a TCP connection, in ms. */
const CONNECT_MS = 4_000;

/**
 * Connects to an origin. Rejects with `USAGE` for an invalid URL. Rejects with `UNAVAILABLE` if no origin answers, if
 * the server is being started or ended, or if the signal aborts. If the server refuses, rejects with `UNAUTHENTICATED`,
 * `FORBIDDEN`, `RATE_LIMITED`, or `NOT_FOUND` (a server that serves no replicas). If the signal aborts after the
 * connection was made, the channel is closed.
 */
export function dialOrigin(address: OriginAddress, signal: AbortSignal): Promise<Channel> {
  return address.url.startsWith("unix:")
    ? dialSocket(address.url.slice("unix:".length), signal)
    : dialWebSocket(address, signal);
}

function noAddress(url: string): ChronicleError {
  return new ChronicleError("USAGE", `this is not the address of an origin: ${JSON.stringify(url)}`, {
    hint: "give http(s)://HOST:PORT, ws(s)://HOST:PORT, or unix:/PATH",
    data: { url },
  });
}

function dialSocket(path: string, signal: AbortSignal): Promise<Channel> {
  const { promise, resolve, reject } = Promise.withResolvers<Channel>();
  const socket = connect({ path, timeout: HANDSHAKE_MS });
  const ended = ending(signal, (error) => {
    socket.destroy();
    reject(error);
  });
  socket.once("connect", () => {
    socket.setTimeout(0);
    ended();
    resolve(channelOn(new SocketWire(socket), signal));
  });
  socket.once("timeout", () => socket.destroy(new Error("it does not answer")));
  socket.once("error", (cause) => {
    ended();
    const why = NO_SOCKET[errnoOf(cause) ?? ""] ?? cause.message;
    reject(
      unavailable(
        `the origin's socket ${path} does not answer: ${why}`,
        "is `serve --replication` running there?",
        cause,
      ),
    );
  });
  return promise;
}

const NO_SOCKET: Readonly<Record<string, string>> = {
  ENOENT: "it does not exist",
  ECONNREFUSED: "nobody listens on it",
  EACCES: "another user owns it",
};

async function dialWebSocket({ url, token, workspace }: OriginAddress, signal: AbortSignal): Promise<Channel> {
  const address = `${url.replace(/^http/, "ws").replace(/\/+$/, "")}/v1/replicate`;
  if (!/^wss?:/.test(address) || !URL.canParse(address)) throw noAddress(url);
  const target = new URL(address);
  if (workspace !== undefined) target.searchParams.set("workspace", workspace);
  // `ws` loads Node's HTTP and TLS modules, which most commands do not need.
  const { WebSocket } = await import("ws");
  const { promise, resolve, reject } = Promise.withResolvers<Channel>();
  const socket = new WebSocket(target, {
    perMessageDeflate: false,
    maxPayload: MAX_FRAME_BYTES,
    handshakeTimeout: HANDSHAKE_MS,
    followRedirects: false,
    finishRequest: (request) => {
      request.once("socket", giveUpLate);
      request.end();
    },
    ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
  });
  const ended = ending(signal, (error) => {
    reject(error);
    socket.terminate();
  });
  // The channel must be made in the same turn of the event loop as the `open` event. Otherwise, messages are lost.
  socket.once("open", () => {
    ended();
    resolve(channelOn(new WebSocketWire(socket), signal));
  });
  socket.once("unexpected-response", (request, response) => {
    ended();
    reject(refused(url, response));
    request.destroy();
  });
  socket.on("error", (cause) => {
    ended();
    reject(
      unavailable(
        `the origin at ${url} does not answer: ${reasonOf(cause)}`,
        "is it running, and reachable from here?",
        cause,
      ),
    );
  });
  return promise;
}

/**
 * Ends an attempt to connect after `CONNECT_MS`. Otherwise, the operating system would repeat the attempt for minutes,
 * at growing intervals, and the return of the network would be noticed late.
 */
function giveUpLate(socket: Socket): void {
  if (!socket.connecting) return;
  const late = (): void => void socket.destroy(new Error(`no connection is made within ${CONNECT_MS / 1_000} s`));
  const timer = setTimeout(late, CONNECT_MS);
  const done = (): void => clearTimeout(timer);
  socket.once("connect", done).once("close", done);
}

/** Calls `end` once the signal has aborted. Returns a function that removes the listener. */
function ending(signal: AbortSignal, end: (error: ChronicleError) => void): () => void {
  const run = (): void => end(new ChronicleError("UNAVAILABLE", "the attempt to connect was cancelled"));
  if (signal.aborted) run();
  signal.addEventListener("abort", run, { once: true });
  return () => signal.removeEventListener("abort", run);
}

function channelOn(wire: Wire, signal: AbortSignal): Channel {
  const channel = new FramedChannel(wire);
  const close = (): void => channel.close();
  signal.addEventListener("abort", close, { once: true });
  void channel.ended.then(() => signal.removeEventListener("abort", close));
  return channel;
}

const REFUSALS: Readonly<Record<number, readonly [ErrorCode, string, string]>> = {
  401: [
    "UNAUTHENTICATED",
    "the origin does not take this token",
    "on the origin's machine, `token create --role agent` makes one",
  ],
  403: [
    "FORBIDDEN",
    "the origin does not admit this client",
    "on the origin's machine, `token list` says what the token may",
  ],
  404: ["NOT_FOUND", "the server there serves no replicas", "start it there with `serve --replication`"],
  421: ["FORBIDDEN", "the server does not answer under this host name", "start it with --allow-host and this name"],
  429: ["RATE_LIMITED", "the origin has too many replicas with this token", "Chronicle tries again by itself"],
  503: ["UNAVAILABLE", "the origin's server is being ended, or started", "Chronicle tries again by itself"],
};

const UNAVAILABLE = 503;

function refused(url: string, { statusCode = 0 }: IncomingMessage): ChronicleError {
  const known = REFUSALS[statusCode];
  if (known === undefined) {
    const hint = "is this the address of a `serve --replication`?";
    return unavailable(`the server at ${url} is not an origin (${statusCode})`, hint, undefined);
  }
  const [code, message, hint] = known;
  const about = statusCode === UNAVAILABLE ? { about: STARTING } : {};
  return new ChronicleError(code, message, { hint, data: { status: statusCode, url, ...about } });
}

/** Returns the reason for a failure in plain words, without the hints that Node adds. */
function reasonOf(cause: Error): string {
  const errno = errnoOf(cause);
  if (errno === "ECONNREFUSED") return "nobody listens there";
  if (errno === "ENOTFOUND" || errno === "EAI_AGAIN") return "its name is not known here";
  if (errno === "EPROTO") return "the server does not speak TLS there: try http:// instead of https://";
  return cause.message.split(/[;\n]/, 1)[0] || (errno ?? "no reason is given");
}

function unavailable(message: string, hint: string, cause: unknown): ChronicleError {
  return new ChronicleError("UNAVAILABLE", message, { hint, ...optional({ cause }) });
}
