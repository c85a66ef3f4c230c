import { ChronicleError } from "../core/errors.ts";
import { ChronicleClient } from "./chronicle-client.ts";
import { type ClientOptions, mustHaveUrl } from "./client-options.ts";
import { createClient as createFetchClient } from "./create-client.ts";
import { SocketTransport } from "./socket-transport.ts";
import { Wire } from "./wire.ts";

/** As the other `createClient`, and `unix:/path` leads to a Unix socket. */
export function createClient({ url, fetch, ...options }: ClientOptions): ChronicleClient {
  mustHaveUrl(url);
  if (!url.startsWith("unix:"))
    return createFetchClient({ url, ...options, ...(fetch === undefined ? {} : { fetch }) });
  const socket = url.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
  if (!socket.startsWith("/")) throw new ChronicleError("USAGE", "the path of a socket is absolute: unix:/path");
  return new ChronicleClient(new Wire(new SocketTransport(socket), options), `unix:${socket}`);
}
