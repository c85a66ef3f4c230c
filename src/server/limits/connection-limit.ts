import type { Socket } from "node:net";

interface Guest {
  readonly socket: Socket;
  /** Requests that are being answered on it. */
  busy: number;
}

/** What tells connections apart, also where TLS has put another socket around the one that was accepted. */
type Peer = Pick<Socket, "remoteAddress" | "remotePort">;

/**
 * Keeps the connections of a port below a number. Where one more comes, the one goes that has asked for nothing for the
 * longest time: whoever only holds connections keeps nobody out. Where all of them are being answered, the new one goes.
 */
export class ConnectionLimit {
  readonly #most: number;
  /** In the order in which they were last busy. */
  readonly #guests = new Map<string, Guest>();

  constructor(most: number) {
    this.#most = most;
  }

  /** A connection was accepted. */
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

  /** A request has come on it; to be called back when it was answered. */
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
