import { once } from "node:events";
import type { Socket } from "node:net";
import type { Wire } from "../channel.ts";

/** More than this waits for nothing. */
const SMALL_BYTES = 8 * 1024;

/** A wire over a connected socket: a Unix socket's, or TCP's. Nobody else may use the socket from now on. */
export class SocketWire implements Wire {
  readonly #socket: Socket;
  #isHeld = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    // Small messages are answers that somebody waits for. On a Unix socket it says nothing.
    socket.setNoDelay(true);
    // The reader tells of it; without a listener it would end the process.
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

  /** Small frames that are written in one go leave together: the other side has them at once, and takes them as one. */
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
