import { ChronicleClient } from "./chronicle-client.ts";
import { type ClientOptions, parseServerUrl } from "./client-options.ts";
import { FetchTransport } from "./fetch-transport.ts";
import { Wire } from "./wire.ts";

/**
 * Creates a client of a server, in a browser or in Node. Sends no request yet. Throws `USAGE` for an invalid address.
 */
export function createClient({ url, fetch, ...options }: ClientOptions): ChronicleClient {
  const base = parseServerUrl(url);
  return new ChronicleClient(new Wire(new FetchTransport(base, fetch), options), base);
}
