import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { setImmediate as turn } from "node:timers/promises";

/** The direction of bytes: `up`, from the replica to its origin, or `down`. */
export type Way = "up" | "down";

/** A connection through the wire. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  /** The directions in which nothing arrives any more, not even the end of the stream. */
  readonly silent: Set<Way>;
  /** The way in which the connection ends at the next piece. `undefined`: it does not end. */
  cutting: "end" | "reset" | undefined;
}

const BOTH: readonly Way[] = ["up", "down"];

/** A proxy between a replica and its origin, over a Unix socket or TCP. Its connections fail as networks do. */
export class CutWire implements AsyncDisposable {
  /** Number of connections that were cut in the middle of a piece. */
  cuts = 0;
  /** Number of connections made so far. */
  made = 0;
  /** Bytes that arrived, by direction. */
  readonly passed: Record<Way, number> = { up: 0, down: 0 };
  readonly #at: string | number;
  readonly #to: string | number;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #isSlow = false;

  /**
   * `at`: the address of the proxy. `to`: the address of the origin. Each is the path of a Unix socket, or a port of
   * 127.0.0.1. Port 0 of `at` stands for any free port.
   */
  constructor(at: string | number, to: string | number) {
    this.#at = at;
    this.#to = to;
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => this.#connected(client));
  }

  /** The Unix socket that it listens on. */
  get path(): string {
    return String(this.#at);
  }

  /** The port that it listens on. */
  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Number of connections that are open and pass bytes in both directions. */
  get open(): number {
    return [...this.#pairs].filter(({ silent, cutting }) => silent.size === 0 && cutting === undefined).length;
  }

  async listen(): Promise<void> {
    if (typeof this.#at === "string") this.#server.listen(this.#at);
    else this.#server.listen(this.#at, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /**
   * Ends each present connection in the middle of the next piece sent over it, in either direction: properly, or by a
   * reset (RST).
   */
  cut(how: "end" | "reset" = "end"): void {
    for (const pair of this.#pairs) if (pair.silent.size === 0) pair.cutting = how;
  }

  /**
   * Drops everything on the present connections, in both directions or one, and tells neither side. New connections
   * work as before.
   */
  swallow(way?: Way): void {
    for (const pair of this.#pairs) for (const one of way === undefined ? BOTH : [way]) pair.silent.add(one);
  }

  /** `true`: from now on, passes each byte on separately. `false`: passes whole pieces on again. */
  dribble(isSlow = true): void {
    this.#isSlow = isSlow;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of this.#pairs) this.#end(pair);
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }

  #connected(client: Socket): void {
    const to = typeof this.#to === "string" ? { path: this.#to } : { host: "127.0.0.1", port: this.#to };
    const server = connect({ ...to, allowHalfOpen: true, noDelay: true });
    const pair: Pair = { client, server, silent: new Set(), cutting: undefined };
    this.#pairs.add(pair);
    this.made += 1;
    this.#forward(pair, "up");
    this.#forward(pair, "down");
  }

  #forward(pair: Pair, way: Way): void {
    const [from, to] = way === "up" ? [pair.client, pair.server] : [pair.server, pair.client];
    const isSilent = (): boolean => pair.silent.has(way);
    from.on("data", (piece: Buffer) => {
      if (isSilent()) return;
      if (this.#isSlow) {
        from.pause();
        void this.#dribble(pair, way, piece).then(() => from.resume());
      } else if (pair.cutting !== undefined) this.#cut(pair, to, piece);
      else {
        this.passed[way] += piece.length;
        if (!to.write(piece)) from.pause();
      }
    });
    to.on("drain", () => from.resume());
    // Bytes sent before the end still arrive.
    from.on("end", () => !isSilent() && to.end());
    from.on("close", () => !isSilent() && to.end(() => this.#end(pair)));
    // A socket that was destroyed emits an error first. "close" follows.
    from.on("error", () => undefined);
  }

  /** Passes half of a piece on, and ends the connection as `cutting` says. */
  #cut(pair: Pair, to: Socket, piece: Buffer): void {
    this.cuts += 1;
    const how = pair.cutting;
    // Later bytes never arrive.
    for (const way of BOTH) pair.silent.add(way);
    const half = piece.subarray(0, Math.floor(piece.length / 2));
    if (how === "reset") to.write(half, () => this.#reset(pair));
    else to.end(half, () => this.#end(pair));
  }

  async #dribble(pair: Pair, way: Way, piece: Buffer): Promise<void> {
    const to = way === "up" ? pair.server : pair.client;
    for (const byte of piece) {
      if (pair.silent.has(way) || !to.writable) return;
      if (pair.cutting !== undefined) return this.#cut(pair, to, Buffer.of(byte));
      this.passed[way] += 1;
      to.write(Buffer.of(byte));
      await turn();
    }
  }

  #reset(pair: Pair): void {
    this.#pairs.delete(pair);
    // A Unix socket has no RST. If it is closed while data is unread, the writer gets the same error.
    for (const [socket, place] of [
      [pair.client, this.#at],
      [pair.server, this.#to],
    ] as const) {
      if (typeof place === "number") socket.resetAndDestroy();
      else socket.destroy();
    }
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }
}

/** Resolves to a port of 127.0.0.1 on which no process listens at the moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
