import type { ServedAddresses } from "../../util/web-guard.ts";

/** A socket or port of the server, and its rules for admitting callers. */
export type Listener = SocketListener | TcpListener;

/** A Unix socket that only its owner can reach. That suffices: there is no host name that could be forged. */
export interface SocketListener {
  readonly kind: "socket";
}

/** A port: each request must name one of our hosts, come from one of our origins if it names one, and bear a token. */
export interface TcpListener extends ServedAddresses {
  readonly kind: "tcp";
}

/** The scheme, port, host names and allowed origins of a TCP listener. */
export interface ListenerNames {
  readonly scheme: "http" | "https";
  readonly port: number;
  /** Host names that it answers to, with or without a port. */
  readonly hosts: readonly string[];
  /** Origins whose pages may send requests and read answers, as browsers send them. */
  readonly sharedWith: readonly string[];
}

const DEFAULT_PORT = { http: 80, https: 443 } as const;

/** Makes the listener of a port. A host without a port means this port, and the scheme's default. */
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

/** True if this host is a name of this machine alone. */
export function isLoopback(host: string): boolean {
  return host === "localhost" || host === "[::1]" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}
