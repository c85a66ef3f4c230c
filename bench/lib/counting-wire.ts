import { once } from "node:events";
import { connect, createServer, type ListenOptions, type Server, type Socket, type TcpNetConnectOpts } from "node:net";

/** The address of a server: a Unix socket, or a TCP host and port. */
export type WireEnd = { readonly path: string } | Pick<TcpNetConnectOpts, "host" | "port">;

/** The length at which `begin` no longer grows. `begin` can be longer, because its last piece is kept whole. */
const KEPT_BYTES = 64 * 1024;

/** A proxy that passes the bytes of all connections on unchanged, and counts them in both directions. */
export class CountingWire implements AsyncDisposable {
  /** The number of bytes that clients sent to the server. */
  sent = 0;
  /** The number of bytes that the server sent to clients. */
  received = 0;
  /** The first bytes that clients sent to the server (about 64 KiB). */
  begin = Buffer.alloc(0);
  readonly #to: WireEnd;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(to: WireEnd) {
    this.#to = to;
    this.#server = createServer((client) => this.#join(client));
  }

  /** Resolves when the proxy accepts connections. `at`: the address of the proxy; `to`: the address of the server. */
  static async between(at: ListenOptions, to: WireEnd): Promise<CountingWire> {
    const wire = new CountingWire(to);
    wire.#server.listen(at);
    await once(wire.#server, "listening");
    return wire;
  }

  /** The number of bytes in both directions. */
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
      // Nothing to do, because "close" follows each error.
      socket.on("error", () => undefined);
      socket.on("close", () => this.#sockets.delete(socket));
    }
    client.on("close", () => server.destroy());
    server.on("close", () => client.destroy());
    client.pipe(server).pipe(client);
  }
}
