import { once } from "node:events";
import { createServer, connect, type Server, type Socket } from "node:net";

/** A connection that goes through. */
interface Pair {
  readonly client: Socket;
  readonly server: Socket;
  state: "open" | "cutting" | "silent";
}

/** A Unix socket between a replica and its origin, which fails as networks do. */
export class CutWire implements AsyncDisposable {
  readonly path: string;
  /** Connections that were cut in the middle of what went over them. */
  cuts = 0;
  /** Connections that were ever made. */
  made = 0;
  readonly #to: string;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();

  constructor(path: string, to: string) {
    this.path = path;
    this.#to = to;
    this.#server = createServer({ allowHalfOpen: true }, (client) => this.#connected(client));
  }

  /** Connections that are open and go through. */
  get open(): number {
    return [...this.#pairs].filter(({ state }) => state === "open").length;
  }

  async listen(): Promise<void> {
    this.#server.listen(this.path);
    await once(this.#server, "listening");
  }

  /** Each present connection ends in the middle of the next thing that is sent over it, whichever way. */
  cut(): void {
    for (const pair of this.#pairs) if (pair.state === "open") pair.state = "cutting";
  }

  /** Nothing more goes over the present connections, and neither side is told; new ones are as before. */
  swallow(): void {
    for (const pair of this.#pairs) pair.state = "silent";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const pair of this.#pairs) this.#end(pair);
    this.#server.close();
    await once(this.#server, "close");
  }

  #connected(client: Socket): void {
    const pair: Pair = { client, server: connect({ path: this.#to, allowHalfOpen: true }), state: "open" };
    this.#pairs.add(pair);
    this.made += 1;
    this.#forward(pair, client, pair.server);
    this.#forward(pair, pair.server, client);
  }

  #forward(pair: Pair, from: Socket, to: Socket): void {
    from.on("data", (piece: Buffer) => {
      if (pair.state === "silent") return;
      if (pair.state === "open") {
        if (!to.write(piece)) from.pause();
        return;
      }
      this.cuts += 1;
      to.end(piece.subarray(0, Math.floor(piece.length / 2)), () => this.#end(pair));
      // What comes after it never arrives.
      pair.state = "silent";
    });
    to.on("drain", () => from.resume());
    // What was said before the end arrives.
    from.on("end", () => pair.state !== "silent" && to.end());
    from.on("close", () => pair.state !== "silent" && to.end(() => this.#end(pair)));
    // One that was killed: "close" follows.
    from.on("error", () => undefined);
  }

  #end(pair: Pair): void {
    this.#pairs.delete(pair);
    pair.client.destroy();
    pair.server.destroy();
  }
}
