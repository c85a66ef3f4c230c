import { once } from "node:events";
import type { Socket } from "node:net";
import type { Wire } from "../channel.ts";

/** The longest frame that is held back, in bytes. */
const SMALL_BYTES = 8 * 1024;

/** A wire over a connected socket: a Unix socket, or TCP. Nobody else may use the socket from now on. */
export class SocketWire implements Wire {
  readonly #socket: Socket;
  #isHeld = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Send small messages without delay: somebody waits for these answers. Has no effect on a Unix socket.
    socket.setNoDelay(true);
    // The reader reports the error; without a listener it would end the process.
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

  /**
   * Sends the small frames written in one turn together, so that the other side receives them at once, as one piece.
   */
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
