import { ChronicleError } from "../core/values/errors.ts";
import type { ActingAs } from "../api/workspace-api.ts";
import { type Fetch, FetchTransport } from "./fetch-transport.ts";
import type { RetryRule } from "./retry.ts";
import { ChronicleClient } from "./chronicle-client.ts";
import { Wire } from "./wire.ts";

/**
 * Creates a client of a server, in a browser or in Node. Does not send a request. Throws `USAGE` for an invalid
 * address.
 */
export function createClient({ url, fetch, ...options }: ClientOptions): ChronicleClient {
  const base = parseServerUrl(url);
  return new ChronicleClient(new Wire(new FetchTransport(base, fetch), options), base);
}

export interface ClientOptions {
  /**
   * The server's address: `http://127.0.0.1:7420` or `https://…`; for the client of Node also
   * `unix:/path/of/the/socket`.
   */
  readonly url: string;
  /** A token of the server. The server's owner needs no token on the Unix socket. */
  readonly token?: string;
  /**
   * A function in place of the global `fetch`. The client of Node uses this function instead of `node:http`, and
   * ignores it for a Unix socket.
   */
  readonly fetch?: Fetch;
  /**
   * The person or agent for whom the client makes its requests. The server decides whether this caller may name an
   * actor.
   */
  readonly acting?: ActingAs;
  /**
   * True if the user can run the commands of `chronicle`, so that the hints of errors may name these commands. Default:
   * hints with commands are left out.
   */
  readonly commandHints?: boolean;
  /**
   * The rules for retrying requests that are safe to repeat. Default: at most 5 tries within about 20 s. The waits
   * begin at about 0.1 s and double, up to 5 s. If the server asks for a longer wait of up to 5 s, the client waits
   * that long. If the server asks for more than 5 s, the request fails at once.
   */
  readonly retry?: RetryRule;
}

/**
 * Returns the base URL of a server, without a slash at its end. Throws `USAGE` for an invalid address, and for an
 * address with user info, a query or a fragment.
 */
export function parseServerUrl(text: string): string {
  mustHaveUrl(text);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw new ChronicleError("USAGE", `${JSON.stringify(text)} is no address of a server`, {
      hint: "give http://… or https://…, in Node also unix:/…",
    });
  }
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "") {
    throw new ChronicleError("USAGE", "a server's address has no user, query or fragment", {
      hint: "give the token separately, not in the address",
    });
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/**
 * Throws `USAGE` if the address is missing. The check is for programs in plain JavaScript, because no compiler checks
 * such programs.
 */
export function mustHaveUrl(url: unknown): void {
  if (typeof url === "string") return;
  throw new ChronicleError("USAGE", "url is missing", {
    hint: 'createClient({ url: "http://127.0.0.1:7420", token })',
  });
}
