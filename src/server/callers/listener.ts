import type { ServedAddresses } from "../../util/web-guard.ts";

/** A socket or port of the server, with the rules for admitting callers there. */
export type Listener = SocketListener | TcpListener;

/** A Unix socket. Only the owner can connect, so requests need no token, and their host is not checked. */
export interface SocketListener {
  readonly kind: "socket";
}

/**
 * A port. The `Host` of each request must be one of `hosts`, and its `Origin`, if any, one of `origins`. A request
 * needs a token unless its route is open.
 */
export interface TcpListener extends ServedAddresses {
  readonly kind: "tcp";
}

export interface ListenerNames {
  readonly scheme: "http" | "https";
  readonly port: number;
  /** The names under which clients address the listener, with or without a port. */
  readonly hosts: readonly string[];
  /** The origins whose pages may send requests and read answers, in the form that browsers send. */
  readonly sharedWith: readonly string[];
}

const DEFAULT_PORT = { http: 80, https: 443 } as const;

/**
 * Makes the listener of a port. A name in `hosts` that has no port is accepted with the listener's port. Such a name is
 * also accepted without a port, except for a loopback name on a port that is not the scheme's default. The accepted
 * origins are the accepted names with the listener's scheme, for `http` also with `https`, and those in `sharedWith`.
 */
export function tcpListener({ scheme, port, hosts, sharedWith }: ListenerNames): TcpListener {
  const named = hosts.flatMap((host) => namesOf(host.toLowerCase(), port, scheme));
  const origins = named.flatMap((host) => [`${scheme}://${host}`, ...(scheme === "http" ? [`https://${host}`] : [])]);
  return { kind: "tcp", hosts: named, origins: [...origins, ...sharedWith], sharedWith };
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
