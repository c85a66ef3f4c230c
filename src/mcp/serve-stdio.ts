import type { Readable, Writable } from "node:stream";
import {
  deserializeMessage,
  type JSONRPCMessage,
  serializeMessage,
  type Transport,
} from "@modelcontextprotocol/server";
import { serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import { makeServer, type ServerParts } from "./make-server.ts";

interface StdioServer {
  /**
   * Resolves when the connection is closed: at once by `close` or an error of the output, and at the end of the input
   * as soon as all requests are answered.
   */
  readonly done: Promise<void>;
  close(): Promise<void>;
}

/** Each line of the input and of the output is one message. */
export function serveStdio(parts: ServerParts, input: Readable, output: Writable): StdioServer {
  const transport = new LineTransport(input, output);
  const onerror = (error: Error) => parts.report(error.message);
  const handle = serve(() => makeServer(parts), { transport, onerror });
  return { done: transport.done, close: () => handle.close() };
}

/** In bytes. A longer message is refused, and the connection stays open. */
export const MAX_MESSAGE_BYTES = 4 * 1024 ** 2;

/**
 * How much of each end of an invalid message is searched for its id: bytes of a message that is too long, characters of
 * a message that cannot be parsed.
 */
const EDGE = 4_096;

const NEWLINE = 0x0a;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/**
 * One message per line, as MCP's stdio requires. Unlike the SDK's own transport, this one answers open requests after
 * the end of the input, so that a script can pipe requests in; and a message that is too long does not end the
 * connection.
 */
class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly done: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #resolveDone: () => void;
  readonly #pending = new Set<string | number>();
  #pieces: Buffer[] = [];
  #size = 0;
  /** The first `EDGE` bytes of a line that is too long. Of the bytes after them, only the last `EDGE` are kept. */
  #head: Buffer | undefined;
  #ended = false;
  #closed = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.done = promise;
    this.#resolveDone = resolve;
  }

  async start(): Promise<void> {
    this.#input.on("data", this.#onData);
    this.#input.on("error", this.#onEnd);
    this.#input.on("end", this.#onEnd);
    this.#input.on("close", this.#onEnd);
    this.#output.on("error", this.#onOutputError);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#closed) {
      await new Promise<void>((resolve) => this.#output.write(serializeMessage(message), () => resolve()));
    }
    if ("id" in message && !("method" in message)) this.#settle(message.id);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#input.off("data", this.#onData);
    this.#input.off("error", this.#onEnd);
    this.#input.off("end", this.#onEnd);
    this.#input.off("close", this.#onEnd);
    this.#input.pause();
    this.onclose?.();
    this.#resolveDone();
  }

  #settle(id: string | number | undefined): void {
    if (id !== undefined) this.#pending.delete(id);
    if (this.#ended && this.#pending.size === 0) void this.close();
  }

  readonly #onEnd = (): void => {
    // The last line need not have a line break.
    if (!this.#ended) this.#endLine();
    this.#ended = true;
    this.#settle(undefined);
  };

  readonly #onOutputError = (error: Error): void => {
    this.onerror?.(error);
    void this.close();
  };

  readonly #onData = (chunk: Buffer): void => {
    let at = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, at)) {
      this.#keep(chunk.subarray(at, end));
      at = end + 1;
      this.#endLine();
    }
    this.#keep(chunk.subarray(at));
  };

  #keep(piece: Buffer): void {
    if (piece.length === 0) return;
    this.#pieces.push(piece);
    this.#size += piece.length;
    if (this.#size <= MAX_MESSAGE_BYTES) return;
    this.#head ??= firstOf(this.#pieces);
    this.#pieces = [lastOf(this.#pieces)];
  }

  #endLine(): void {
    const line = Buffer.concat(this.#head === undefined ? this.#pieces : [this.#head, ...this.#pieces]);
    const size = this.#size;
    this.#pieces = [];
    this.#size = 0;
    this.#head = undefined;
    if (size > MAX_MESSAGE_BYTES) {
      const message = `the message has ${size} bytes; at most ${MAX_MESSAGE_BYTES} are read`;
      this.#refuse(idWithin(line.toString("latin1")), INVALID_REQUEST, message);
    } else if (line.toString("utf8").trim() !== "") this.#deliver(line.toString("utf8"));
  }

  #deliver(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (error) {
      const why = error instanceof SyntaxError ? "the line is not JSON" : "the line is not a JSON-RPC message";
      this.#refuse(idWithin(line.length > 2 * EDGE ? line.slice(0, EDGE) + line.slice(-EDGE) : line), PARSE_ERROR, why);
      this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      return;
    }
    if ("method" in message && "id" in message) this.#pending.add(message.id);
    // A request that the client has cancelled gets no answer, so it must not delay the close.
    if ("method" in message && message.method === "notifications/cancelled") {
      const id: unknown = message.params?.["requestId"];
      if (typeof id === "string" || typeof id === "number") this.#settle(id);
    }
    this.onmessage?.(message);
  }

  /** Answers with an error, or calls `onerror` if the message's id is unknown. */
  #refuse(id: string | number | undefined, code: number, message: string): void {
    if (id === undefined) this.onerror?.(new Error(message));
    else void this.send({ jsonrpc: "2.0", id, error: { code, message } });
  }
}

/** Copies the first `EDGE` bytes, so that the pieces can be freed. */
function firstOf(pieces: readonly Buffer[]): Buffer {
  const kept: Buffer[] = [];
  for (let size = 0, at = 0; size < EDGE && at < pieces.length; at += 1) {
    const piece = (pieces[at] ?? Buffer.alloc(0)).subarray(0, EDGE - size);
    kept.push(piece);
    size += piece.length;
  }
  return Buffer.concat(kept);
}

function lastOf(pieces: readonly Buffer[]): Buffer {
  const kept: Buffer[] = [];
  for (let size = 0, at = pieces.length - 1; size < EDGE && at >= 0; at -= 1) {
    const piece = (pieces[at] ?? Buffer.alloc(0)).subarray(size - EDGE);
    kept.unshift(piece);
    size += piece.length;
  }
  return Buffer.concat(kept);
}

/**
 * Finds the id of a request of which only the beginning and the end are known. An `id` in between does not count,
 * because it may belong to the arguments.
 */
function idWithin(text: string): string | number | undefined {
  const head = /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+|"[^"\\]{1,100}")/.exec(text)?.[1];
  const tail = /"id"\s*:\s*(\d+|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(text)?.[1];
  const found = head ?? tail;
  if (found === undefined) return undefined;
  return found.startsWith('"') ? found.slice(1, -1) : Number(found);
}
