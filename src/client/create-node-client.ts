import { ChronicleError } from "../core/values/errors.ts";
import { ChronicleClient } from "./chronicle-client.ts";
import { type ClientOptions, mustHaveUrl, parseServerUrl } from "./client-options.ts";
import { createClient as createFetchClient } from "./create-client.ts";
import { NodeTransport } from "./node-transport.ts";
import { Wire } from "./wire.ts";

/**
 * Creates a client as the other `createClient` does, also for a Unix socket (`unix:/path`). Waits for an answer without
 * limit; with `fetch`, as long as that waits.
 */
export function createClient({ url, fetch, ...options }: ClientOptions): ChronicleClient {
  mustHaveUrl(url);
  if (!url.startsWith("unix:") && fetch !== undefined) return createFetchClient({ url, fetch, ...options });
  if (!url.startsWith("unix:")) {
    const base = parseServerUrl(url);
    return new ChronicleClient(new Wire(NodeTransport.toPort(base), options), base);
  }
  const socket = url.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
  if (!socket.startsWith("/")) throw new ChronicleError("USAGE", "the path of a socket is absolute: unix:/path");
  return new ChronicleClient(new Wire(NodeTransport.overSocket(socket), options), `unix:${socket}`);
}
