import type { OpenWebSocket } from "../../api/replication-api.ts";
import type { ErrorCode } from "../../core/values/errors.ts";
import type { Wire } from "../channel.ts";
import { closeCodeOf } from "../protocol/wire-errors.ts";

/** The number of bytes that the WebSocket may buffer before the writer waits. */
const HIGH_WATER_BYTES = 1024 ** 2;

/**
 * The maximum size, in bytes, of a message. A longer frame is split into several messages. A WebSocket reports a
 * message only when all of the message has arrived. If a long message arrived slowly, the receiver would see no
 * bytes and regard the connection as dead.
 */
const MESSAGE_BYTES = 256 * 1024;

/** The number of unread bytes above which the socket is paused. */
const UNREAD_BYTES = 1024 ** 2;

/**
 * The close codes that report no error: 1000 (done), 1001 (going away), 1005 (no code given). Code 1006 (no close frame
 * arrived) is an error.
 */
const PEACEFUL: ReadonlySet<number> = new Set([1000, 1001, 1005]);

/**
 * A wire over an open WebSocket (package `ws`), for the client's or the server's side. Make the wire in the turn of the
 * event loop in which the socket opens, because the first messages are lost otherwise. The socket must be made with
 * `perMessageDeflate: false`, and with the maximum size of a frame as `maxPayload`. A text message breaks the
 * connection.
 */
export class WebSocketWire implements Wire {
  readonly #socket: OpenWebSocket;
  readonly #unread: Uint8Array[] = [];
  #unreadBytes = 0;
  #isClosed = false;
  #end: { readonly error: Error | undefined } | undefined;
  #wake: (() => void) | undefined;

  constructor(socket: OpenWebSocket) {
    this.#socket = socket;
    socket.on("message", (data, isBinary) => this.#arrived(data, isBinary));
    socket.on("error", (error) => this.#ended(error));
    socket.on("close", (code) =>
      this.#ended(PEACEFUL.has(code) ? undefined : new Error(`the WebSocket closed with ${code}`)),
    );
  }

  async write(frame: Uint8Array): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) {
      if (this.#isClosed) throw new Error("the WebSocket is closed");
      if (this.#end?.error !== undefined) throw this.#end.error;
      // Drop the frame, because the peer has closed without an error. An error here would end the channel, and the
      // peer's unread messages would be lost.
      return;
    }
    const left = this.#send(frame);
    if (socket.bufferedAmount > HIGH_WATER_BYTES) return left;
    // Ignore a failure here. The next `write` finds the failure in the state of the socket.
    left.catch(() => undefined);
  }

  #send(frame: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = (error?: Error | null): void => (error ? reject(error) : resolve());
      for (let at = 0; at < frame.length; at += MESSAGE_BYTES) {
        const end = at + MESSAGE_BYTES;
        const done = end < frame.length ? undefined : sent;
        this.#socket.send(frame.subarray(at, end), { binary: true, compress: false }, done);
      }
    });
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    for (;;) {
      const next = this.#unread.shift();
      if (next !== undefined) {
        this.#unreadBytes -= next.length;
        if (this.#unreadBytes <= UNREAD_BYTES && this.#socket.isPaused) this.#socket.resume();
        yield next;
      } else if (this.#end === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
      else if (this.#end.error === undefined) return;
      else throw this.#end.error;
    }
  }

  close(how: "gently" | "at once", code?: ErrorCode): void {
    this.#isClosed = true;
    if (how === "at once") this.#socket.terminate();
    else this.#socket.close(closeCodeOf(code));
  }

  #arrived(data: Buffer | ArrayBuffer | Buffer[], isBinary: boolean): void {
    if (!isBinary) {
      this.#ended(new Error("a text message came"));
      this.#socket.terminate();
      return;
    }
    const bytes = Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data;
    this.#unread.push(bytes);
    this.#unreadBytes += bytes.length;
    if (this.#unreadBytes > UNREAD_BYTES) this.#socket.pause();
    this.#wake?.();
  }

  #ended(error: Error | undefined): void {
    this.#end ??= { error };
    this.#wake?.();
  }
}
