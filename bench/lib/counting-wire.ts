import { once } from "node:events";
import { connect, createServer, type ListenOptions, type Server, type Socket, type TcpNetConnectOpts } from "node:net";

/** A place that connections are made to: a Unix socket, or a port of loopback. */
export type WireEnd = { readonly path: string } | Pick<TcpNetConnectOpts, "host" | "port">;

/** Keeps this many bytes of the data sent, or slightly more. */
const KEPT_BYTES = 64 * 1024;

/** Passes connections on unchanged, and counts the bytes in both directions. */
export class CountingWire implements AsyncDisposable {
  /** Bytes to the server. */
  sent = 0;
  /** Bytes from there. */
  received = 0;
  /** The first bytes sent. */
  begin = Buffer.alloc(0);
  readonly #to: WireEnd;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(to: WireEnd) {
    this.#to = to;
    this.#server = createServer((client) => this.#join(client));
  }

  /** Resolves when it takes connections. */
  static async between(at: ListenOptions, to: WireEnd): Promise<CountingWire> {
    const wire = new CountingWire(to);
    wire.#server.listen(at);
    await once(wire.#server, "listening");
    return wire;
  }

  /** Bytes both ways. */
  get bytes(): number {
    return this.sent + this.received;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #sending(piece: Buffer): void {
    this.sent += piece.length;
    if (this.begin.length < KEPT_BYTES) this.begin = Buffer.concat([this.begin, piece]);
  }

  #join(client: Socket): void {
    const server = connect(this.#to);
    client.on("data", (piece: Buffer) => this.#sending(piece));
    server.on("data", (piece: Buffer) => (this.received += piece.length));
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      // "close" follows.
      socket.on("error", () => undefined);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    client.pipe(server).pipe(client);
  }
}
