import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

/** What is known of a request before its body is read. */
export interface RequestHead {
  readonly headers: IncomingHttpHeaders;
  /** As the request line has it: a path, perhaps with a query. */
  readonly url: string;
}

/** Why a request is not served. */
export interface Refusal {
  readonly status: 401 | 403 | 404;
  readonly message: string;
}

const HOSTS = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Keeps other web pages and other users away from a server on loopback, before anything of a request is read: its
 * `Host` must be this machine and this port (else a name that was bent to 127.0.0.1 reaches it), an `Origin`, if there
 * is one, must be this server itself, nothing may come from another site, and the token must be right.
 */
export function refusalOf(
  { headers, url }: RequestHead,
  { port, token }: { readonly port: number; readonly token: string },
): Refusal | undefined {
  const own = HOSTS.map((host) => `${host}:${port}`);
  if (!own.includes((headers.host ?? "").toLowerCase())) return { status: 403, message: "this host is not served" };
  const { origin } = headers;
  if (origin !== undefined && !own.some((host) => origin.toLowerCase() === `http://${host}`)) {
    return { status: 403, message: "this origin is not served" };
  }
  if (headers["sec-fetch-site"] === "cross-site") return { status: 403, message: "not from another site" };
  if (!isToken(headers.authorization, token)) {
    return { status: 401, message: "give the server's token: Authorization: Bearer TOKEN" };
  }
  return url === "/mcp" ? undefined : { status: 404, message: "only /mcp is served" };
}

/** Compares digests, so that neither the length nor the time says how much was right. */
function isToken(authorization: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
  const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
