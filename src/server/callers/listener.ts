import { optional } from "../../util/optional.ts";
import type { ServedAddresses } from "../../util/web-guard.ts";
import type { TokenStore } from "./token.ts";

/** A socket or port of the server, with the rules for admitting callers there. */
export type Listener = SocketListener | TcpListener;

/** A Unix socket. Requests need no token, and their host is not checked, because only the owner can connect. */
export interface SocketListener {
  readonly kind: "socket";
}

/**
 * A port. The `Host` of each request must be one of `hosts`, and its `Origin`, if any, one of `origins`. A request
 * needs a token unless its route is open.
 */
export interface TcpListener extends ServedAddresses {
  readonly kind: "tcp";
  /**
   * Set if the listener offers the page (docs/page.md). These are the tokens of the page's sessions, which no other
   * listener accepts.
   */
  readonly page?: PageTokens;
}

export type PageTokens = Pick<TokenStore, "find">;

export interface ListenerNames {
  readonly scheme: "http" | "https";
  readonly port: number;
  /** The names under which clients address the listener, with or without a port. */
  readonly hosts: readonly string[];
  /** The origins whose pages may send requests and read answers, in the form that browsers send. */
  readonly sharedWith: readonly string[];
  readonly page?: PageTokens;
}

const DEFAULT_PORT = { http: 80, https: 443 } as const;

/**
 * Makes the listener of a port. A name in `hosts` with a port is accepted as it is. A name without a port is accepted
 * with the listener's port, and also without a port. The exception is a loopback name, which is accepted without a port
 * only if the port is the scheme's default. For example, on port 8080, `example.org` gives `example.org:8080` and
 * `example.org`, but `localhost` gives only `localhost:8080`. The accepted origins are the accepted names with the
 * listener's scheme, and the origins in `sharedWith`. If the scheme is `http`, the accepted names with `https` are
 * accepted, too.
 */
export function tcpListener({ scheme, port, hosts, sharedWith, page }: ListenerNames): TcpListener {
  const named = hosts.flatMap((host) => namesOf(host.toLowerCase(), port, scheme));
  const origins = named.flatMap((host) => [`${scheme}://${host}`, ...(scheme === "http" ? [`https://${host}`] : [])]);
  return { kind: "tcp", hosts: named, origins: [...origins, ...sharedWith], sharedWith, ...optional({ page }) };
}

function namesOf(host: string, port: number, scheme: "http" | "https"): string[] {
  const hasPort = /^(\[[^\]]*\]|[^:[\]]*):\d+$/.test(host);
  if (hasPort) return [host];
  return [`${host}:${port}`, ...(port === DEFAULT_PORT[scheme] || !isLoopback(host) ? [host] : [])];
}

/** Returns true for host names and addresses that always refer to the machine itself. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
