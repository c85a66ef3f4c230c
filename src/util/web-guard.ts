import type { IncomingHttpHeaders } from "node:http";

/** What is known of a request before anything of it is read. */
export interface RequestHead {
  readonly headers: IncomingHttpHeaders;
  /** As the request line has it. */
  readonly url: string;
}

/** How a port is known to those who may ask there. */
export interface WebDoor {
  /** Lower case, with the port: `127.0.0.1:7420`. */
  readonly hosts: readonly string[];
  /** As browsers send them: `http://127.0.0.1:7420`. */
  readonly origins: readonly string[];
  /** Of those, the ones whose pages may read answers (CORS). */
  readonly sharedWith: readonly string[];
}

/** Why a request is not served, as an HTTP status and in words. */
export interface Stranger {
  readonly status: 400 | 403 | 421;
  readonly detail: string;
}

/** Names under which people put tokens into addresses, where logs and histories keep them. */
const TOKEN_NAMES = /[?&](access_token|token|api_key|apikey|authorization|bearer)=|chr_[A-Za-z0-9_-]{43}/i;

/**
 * Keeps other web pages out before anything of a request is parsed, on every surface that speaks HTTP (also an upgrade to
 * WebSocket): `Host` must be one of ours with our port, else a name that was bent to this machine reaches it; an `Origin`,
 * if there is one, must be ours or allowed; nothing may come from another site; and no token may stand in the address.
 * `"socket"`: a Unix socket, where there are no names.
 */
export function strangerOf({ headers, url }: RequestHead, door: WebDoor | "socket"): Stranger | undefined {
  const { origin } = headers;
  if (door === "socket") {
    // No page can reach a Unix socket by itself: what has an origin was passed on by somebody who does not look.
    if (origin !== undefined) return forbidden("this origin is not served on a Unix socket");
  } else {
    if (!door.hosts.includes((headers.host ?? "").toLowerCase()))
      return { status: 421, detail: "this host is not served here" };
    if (origin !== undefined && !door.origins.includes(origin)) return forbidden("this origin is not served");
  }
  const isShared = door !== "socket" && origin !== undefined && door.sharedWith.includes(origin);
  if (headers["sec-fetch-site"] === "cross-site" && !isShared) return forbidden("not from another site");
  if (!TOKEN_NAMES.test(url)) return undefined;
  const detail = "a token does not belong into an address: send Authorization: Bearer TOKEN, and revoke this one";
  return { status: 400, detail };
}

function forbidden(detail: string): Stranger {
  return { status: 403, detail };
}
