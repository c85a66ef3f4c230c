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
   * Resolves when the connection is closed. `close` and an error of the output close the connection at once. After the
   * end of the input, the connection is closed once all requests are answered.
   */
  readonly done: Promise<void>;
  close(): Promise<void>;
}

/** Serves MCP on two streams. Each line of the input and of the output is one message. */
export function serveStdio(parts: ServerParts, input: Readable, output: Writable): StdioServer {
  const transport = new LineTransport(input, output);
  const onerror = (error: Error) => parts.report(error.message);
  const handle = serve(() => makeServer(parts), { transport, onerror });
  return { done: transport.done, close: () => handle.close() };
}

/** The maximum size of a message, in bytes. A longer message is refused, and the connection stays open. */
export const MAX_MESSAGE_BYTES = 4 * 1024 ** 2;

/** The number of bytes, at each end of a message that is too long, that are searched for the id of the message. */
const EDGE = 4_096;

const NEWLINE = 0x0a;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

/**
 * A transport with one message per line, as MCP's stdio requires. Unlike the SDK's own transport, this transport still
 * answers open requests after the end of the input, so that a script can pipe requests in. A message that is too long
 * does not end the connection.
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
    const line = Buffer.concat(this.#pieces).toString("utf8");
    const head = this.#head?.toString("utf8");
    const size = this.#size;
    this.#pieces = [];
    this.#size = 0;
    this.#head = undefined;
    if (head !== undefined) {
      const message = `the message has ${size} bytes; at most ${MAX_MESSAGE_BYTES} are read`;
      this.#refuse(idAtTop(head) ?? idAtEnd(line), INVALID_REQUEST, message);
    } else if (line.trim() !== "") this.#deliver(line);
  }

  #deliver(line: string): void {
    let message: JSONRPCMessage;
    try {
      message = deserializeMessage(line);
    } catch (error) {
      if (error instanceof SyntaxError) this.#refuse(idAtTop(line), PARSE_ERROR, "the line is not JSON");
      else this.#refuse(idAtTop(line), INVALID_REQUEST, "the line is not a JSON-RPC message");
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

const ID = /"id"\s*:\s*(-?\d+|"[^"\\]{1,100}")\s*[,}]/y;

/**
 * Finds the id of a message that is cut off or is not JSON: the first `id` that is a field of the message itself, not
 * of its arguments.
 */
function idAtTop(text: string): string | number | undefined {
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "{" || char === "[") depth += 1;
    else if (char === "}" || char === "]") depth -= 1;
    else if (char === '"') {
      ID.lastIndex = at;
      const found = depth === 1 ? ID.exec(text)?.[1] : undefined;
      if (found !== undefined) return idOf(found);
      at = endOfText(text, at);
    }
    if (depth <= 0 && char?.trim() !== "") return undefined;
  }
  return undefined;
}

/** Returns the index of the quote that ends a JSON string. */
function endOfText(json: string, from: number): number {
  for (let at = from + 1; at < json.length; at += 1) {
    if (json[at] === '"') return at;
    if (json[at] === "\\") at += 1;
  }
  return json.length;
}

/**
 * Finds the id in the last bytes of a message whose earlier bytes were dropped. The id must be the last field, or the
 * last field before `jsonrpc`.
 */
function idAtEnd(text: string): string | number | undefined {
  const found = /"id"\s*:\s*(-?\d+|"[^"\\]{1,100}")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$/.exec(text)?.[1];
  return found === undefined ? undefined : idOf(found);
}

function idOf(found: string): string | number {
  return found.startsWith('"') ? found.slice(1, -1) : Number(found);
}
