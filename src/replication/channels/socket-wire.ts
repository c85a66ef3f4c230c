import { once } from "node:events";
import type { Socket } from "node:net";
import type { Wire } from "../channel.ts";

/** The maximum size, in bytes, of a frame that is held back so that it can be sent together with other frames. */
const SMALL_BYTES = 8 * 1024;

/** A wire over a connected Unix or TCP socket. Once the wire is made, nothing else may use the socket. */
export class SocketWire implements Wire {
  readonly #socket: Socket;
  #isHeld = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    // TCP must not delay small messages (Nagle's algorithm), because the peer may be waiting for them. On a Unix
    // socket, `setNoDelay` has no effect.
    socket.setNoDelay(true);
    // An error without a listener would end the process. The reader of the socket reports the error.
    socket.on("error", () => undefined);
  }

  async write(frame: Uint8Array): Promise<void> {
    const socket = this.#socket;
    if (!socket.writable) throw socket.errored ?? new Error("the socket is closed");
    if (frame.length > SMALL_BYTES || socket.writableLength > SMALL_BYTES) this.#letGo();
    else this.#holdForTurn();
    if (socket.write(frame)) return;
    const stop = new AbortController();
    try {
      await Promise.race([
        once(socket, "drain", { signal: stop.signal }),
        once(socket, "close", { signal: stop.signal }).then(() => {
          throw socket.errored ?? new Error("the socket is closed");
        }),
      ]);
    } finally {
      stop.abort();
    }
  }

  /** Holds small frames back until the present callback has ended, so that they are sent together. */
  #holdForTurn(): void {
    if (this.#isHeld) return;
    this.#isHeld = true;
    this.#socket.cork();
    process.nextTick(() => this.#letGo());
  }

  #letGo(): void {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#socket.uncork();
  }

  async *read(): AsyncGenerator<Uint8Array, void> {
    for await (const piece of this.#socket) yield piece as Uint8Array;
  }

  close(how: "gently" | "at once"): void {
    if (how === "at once") this.#socket.destroy();
    else this.#socket.end();
  }
}
