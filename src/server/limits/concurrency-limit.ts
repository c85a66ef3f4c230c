import type { Socket } from "node:net";

interface Connection {
  readonly socket: Socket;
  /** The number of requests that are being answered on the connection. */
  busy: number;
}

/** Limits the number of slots that each caller may hold at once. */
export class ConcurrencyLimit {
  readonly #most: number;
  readonly #taken = new Map<string, number>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes one of the caller's slots; disposing of the result releases it. Returns `undefined` if no slot is free. */
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

/**
 * The remote end of a connection. It identifies the connection better than the socket object does: a TLS socket and the
 * TCP socket inside it are two objects with the same remote end.
 */
type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

/**
 * Limits the connections of a port. Above the limit, a new connection takes the place of the connection that has been
 * idle for longest. Idle connections therefore do not block new clients. If all connections are busy, the new one is
 * closed.
 */
export class ConnectionLimit {
  readonly #most: number;
  /**
   * Maps the result of `keyOf` to a connection. The connections are ordered by the time at which their last request
   * ended. A connection on which no request has ended is placed by the time at which it was opened.
   */
  readonly #connections = new Map<string, Connection>();

  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Adds a new connection. If the limit is reached, closes the connection that has been idle for longest. If no
   * connection is idle, closes the new one.
   */
  enter(socket: Socket): void {
    const key = keyOf(socket);
    const connection: Connection = { socket, busy: 0 };
    if (this.#connections.size >= this.#most) {
      const idle = this.#connections.entries().find(([, { busy }]) => busy === 0);
      if (idle === undefined) {
        socket.destroy();
        return;
      }
      this.#connections.delete(idle[0]);
      idle[1].socket.destroy();
    }
    this.#connections.set(key, connection);
    socket.once("close", () => {
      if (this.#connections.get(key) === connection) this.#connections.delete(key);
    });
  }

  /** Marks a connection as busy with a request. The caller calls the returned function when the request has ended. */
  busy(peer: Peer): () => void {
    const key = keyOf(peer);
    const connection = this.#connections.get(key);
    if (connection === undefined) return () => undefined;
    connection.busy += 1;
    return () => {
      connection.busy -= 1;
      if (this.#connections.get(key) !== connection) return;
      this.#connections.delete(key);
      this.#connections.set(key, connection);
    };
  }
}

function keyOf({ remoteAddress = "", remotePort = 0 }: Peer): string {
  return `${remoteAddress} ${remotePort}`;
}
