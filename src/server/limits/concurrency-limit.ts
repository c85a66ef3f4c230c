import type { Socket } from "node:net";

interface Guest {
  readonly socket: Socket;
  /** The number of requests that are being answered on it. */
  busy: number;
}

/** Identifies a connection, also if TLS has wrapped the accepted socket in another one. */
type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

/**
 * Keeps the connections of a port below a number. When one more comes, closes the connection that has been idle for
 * longest, so that idle connections keep nobody out. If all are busy, closes the new one.
 */
export class ConnectionLimit {
  readonly #most: number;
  /** Ordered by the time of their last request. */
  readonly #guests = new Map<string, Guest>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Adds an accepted connection. */
  enter(socket: Socket): void {
    const key = keyOf(socket);
    const guest: Guest = { socket, busy: 0 };
    if (this.#guests.size >= this.#most) {
      const idle = this.#guests.entries().find(([, { busy }]) => busy === 0);
      if (idle === undefined) {
        socket.destroy();
        return;
      }
      this.#guests.delete(idle[0]);
      idle[1].socket.destroy();
    }
    this.#guests.set(key, guest);
    socket.once("close", () => {
      if (this.#guests.get(key) === guest) this.#guests.delete(key);
    });
  }

  /** Marks a connection as busy with a request. Returns a function to call when the request was answered. */
  busy(peer: Peer): () => void {
    const key = keyOf(peer);
    const guest = this.#guests.get(key);
    if (guest === undefined) return () => undefined;
    guest.busy += 1;
    return () => {
      guest.busy -= 1;
      if (this.#guests.get(key) !== guest) return;
      this.#guests.delete(key);
      this.#guests.set(key, guest);
    };
  }
}

function keyOf({ remoteAddress = "", remotePort = 0 }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}

/** Limits how many of something each caller may have at once. */
export class ConcurrencyLimit {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Takes one of the caller's slots; dispose the result to release it. `undefined` if the caller has as many as it may.
   */
  take(caller: string): Disposable | undefined {
    const taken = this.#taken.get(caller) ?? 0;
    if (taken >= this.#most) return undefined;
    this.#taken.set(caller, taken + 1);
    let isBack = false;
    const giveBack = (): void => {
      if (isBack) return;
      isBack = true;
      const left = (this.#taken.get(caller) ?? 1) - 1;
      if (left === 0) this.#taken.delete(caller);
      else this.#taken.set(caller, left);
    };
    return { [Symbol.dispose]: giveBack };
  }
}
