import type { IncomingHttpHeaders } from "node:http";

/** The facts about a request before its body is read. */
export interface RequestHead {
  readonly headers: IncomingHttpHeaders;
  /**
   * Names and values in turn, as received. For several headers of one name, `headers` has only the first, or joins
   * them.
   */
  readonly rawHeaders: readonly string[];
  /** The URL as in the request line. */
  readonly url: string;
}

/** The hosts and origins by which a port is known to its callers. */
export interface ServedAddresses {
  /** Lower case, with the port: `127.0.0.1:7420`. */
  readonly hosts: readonly string[];
  /** In the form that browsers send: `http://127.0.0.1:7420`. */
  readonly origins: readonly string[];
  /** The subset of `origins` whose pages may read answers (CORS). */
  readonly sharedWith: readonly string[];
}

/** The reason why a request is not served, as an HTTP status and in words. */
export interface Stranger {
  readonly status: 400 | 403 | 421;
  readonly detail: string;
}

/** Names under which people put tokens into URLs, and our own tokens. Logs and browsers' histories keep URLs. */
const TOKEN_NAMES = /[?&](access_token|token|api_key|apikey|authorization|bearer)=|chr_[A-Za-z0-9_-]{43}/i;

/**
 * Headers that identify the sender and the receiver. If one is sent twice, a proxy may use another value than this
 * server (RFC 9112, section 3.2, requires a server to refuse a second `Host`).
 */
const ONCE: ReadonlySet<string> = new Set(["host", "origin", "authorization", "sec-fetch-site"]);
const NO_OTHERS: ReadonlySet<string> = new Set();
/** Values of `Sec-Fetch-Site` for a request that was not caused by another site's page. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "same-site", "none"]);

/**
 * Returns why a request is not served, before anything but its head is parsed; `undefined` if it is served. Applies to
 * everything that speaks HTTP, upgrades to WebSocket included. `Host` must be one of ours with our port, against DNS
 * rebinding. An `Origin`, if there is one, must be in `origins`; that of a request from another site's page must be in
 * `sharedWith`. A Unix socket takes no `Origin`. A URL must not contain a token. `served`: `"socket"` for a Unix
 * socket, which has no hosts or origins. `alsoOnce`: further headers that may be sent only once, in lower case.
 */
export function strangerOf(
  head: RequestHead,
  served: ServedAddresses | "socket",
  alsoOnce: ReadonlySet<string> = NO_OTHERS,
): Stranger | undefined {
  const { headers, url } = head;
  const { origin } = headers;
  const doubled = doubledIn(head, alsoOnce);
  if (doubled !== undefined) return { status: 400, detail: `there is more than one ${doubled} header` };
  if (served === "socket") {
    // No page can reach a Unix socket by itself: a request with an origin was passed on by a proxy that does not check.
    if (origin !== undefined) return forbidden("this origin is not served on a Unix socket");
  } else {
    if (!served.hosts.includes((headers.host ?? "").toLowerCase()))
      return { status: 421, detail: "this host is not served here" };
    if (origin !== undefined && !served.origins.includes(origin)) return forbidden("this origin is not served");
  }
  const isShared = served !== "socket" && origin !== undefined && served.sharedWith.includes(origin);
  if (!OWN_SITES.has((headers["sec-fetch-site"] ?? "none").toString().toLowerCase()) && !isShared)
    return forbidden("requests from other sites are not served");
  if (!TOKEN_NAMES.test(url)) return undefined;
  const detail = "a URL must not contain a token: send Authorization: Bearer TOKEN instead, and revoke this one";
  return { status: 400, detail };
}

/** Returns the name of the first header of `ONCE` or `alsoOnce` that was sent twice; `undefined` if none was. */
function doubledIn({ rawHeaders }: RequestHead, alsoOnce: ReadonlySet<string>): string | undefined {
  const seen = new Set<string>();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? "").toLowerCase();
    if (!ONCE.has(name) && !alsoOnce.has(name)) continue;
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}

function forbidden(detail: string): Stranger {
  return { status: 403, detail };
}
