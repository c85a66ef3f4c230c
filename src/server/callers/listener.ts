import type { ServedAddresses } from "../../util/web-guard.ts";

/** A socket or port of the server, and its rules for admitting callers. */
export type Listener = SocketListener | TcpListener;

/** A Unix socket. Only its owner can connect, so requests need no token, and their host is not checked. */
export interface SocketListener {
  readonly kind: "socket";
}

/**
 * A port. Each request must name one of its hosts, and one of its origins if it names any, and bear a token unless its
 * route is open.
 */
export interface TcpListener extends ServedAddresses {
  readonly kind: "tcp";
}

/** The scheme, port, host names and allowed origins of a TCP listener. */
export interface ListenerNames {
  readonly scheme: "http" | "https";
  readonly port: number;
  /** The host names under which it is addressed, with or without a port. */
  readonly hosts: readonly string[];
  /** Origins, in the form that browsers send, whose pages may send requests and read answers. */
  readonly sharedWith: readonly string[];
}

const DEFAULT_PORT = { http: 80, https: 443 } as const;

/**
 * Returns the listener of a port. A name in `hosts` without a port is accepted with this port. It is also accepted
 * without a port, unless it is a loopback name and this is not the default port of the scheme.
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

/** Returns true if a host name always means the machine itself. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
