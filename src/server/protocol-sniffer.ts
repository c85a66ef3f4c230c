import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The first bytes of the frames of the replication protocol (docs/protocol.md). No method of HTTP begins with them. */
const MARK = Buffer.from("CHR");

export interface OtherPeers {
  /** Takes a connection that speaks in frames; the bytes received so far can be read from the socket again. */
  readonly take: (socket: Socket) => void;
  /** A connection whose protocol is not known after this time, in milliseconds, is cut off. */
  readonly withinMs: number;
}

/**
 * Has an HTTP server tell HTTP from replication by the first bytes of a connection: one Unix socket serves both.
 * Returns a function that cuts the connections that have sent nothing yet.
 */
export function sniffProtocol(server: Server, { take, withinMs }: OtherPeers): () => void {
  const serve = server.listeners("connection");
  const silent = new Set<Socket>();
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => {
    silent.add(socket);
    const cut = (): void => void socket.destroy();
    const timer = setTimeout(cut, withinMs);
    const done = (): void => {
      clearTimeout(timer);
      silent.delete(socket);
      socket.off("readable", look).off("error", cut).off("close", done);
    };
    let begun = Buffer.alloc(0);
    const look = (): void => {
      const piece: Buffer | null = socket.read();
      // Its end, before a word.
      if (piece === null) return;
      begun = Buffer.concat([begun, piece]);
      const isFrame = MARK.subarray(0, begun.length).equals(begun.subarray(0, MARK.length));
      if (isFrame && begun.length < MARK.length) return;
      done();
      socket.unshift(begun);
      if (isFrame) take(socket);
      else for (const listener of serve) listener.call(server, socket);
    };
    socket.on("readable", look).on("error", cut).on("close", done);
  });
  return () => {
    for (const socket of silent) socket.destroy();
  };
}
