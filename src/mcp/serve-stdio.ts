import type { Readable, Writable } from "node:stream";
import { serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import { LineTransport } from "./line-transport.ts";
import { makeServer, type ServerParts } from "./make-server.ts";

/** A server on two streams. */
export interface StdioServer {
  /** Resolves at the end of the input, once every request is answered. */
  readonly done: Promise<void>;
  close(): Promise<void>;
}

/** Serves one client: one message per line in, one per line out, nothing else. */
export function serveStdio(parts: ServerParts, input: Readable, output: Writable): StdioServer {
  const transport = new LineTransport(input, output);
  const onerror = (error: Error) => parts.report(error.message);
  const handle = serve(() => makeServer(parts), { transport, onerror });
  return { done: transport.done, close: () => handle.close() };
}
