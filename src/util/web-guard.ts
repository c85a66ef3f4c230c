import type { IncomingHttpHeaders } from "node:http";

export interface RequestHead {
  readonly headers: IncomingHttpHeaders;
  /**
   * The names and values of the headers, alternating, as received. If a name occurs several times, `headers` has only
   * the first value, or joins the values.
   */
  readonly rawHeaders: readonly string[];
  /** The URL as in the request line. */
  readonly url: string;
}

/** The hosts and origins under which callers know a port. */
export interface ServedAddresses {
  /** The hosts in lower case, with the port: `127.0.0.1:7420`. */
  readonly hosts: readonly string[];
  /** The origins in the form that browsers send: `http://127.0.0.1:7420`. */
  readonly origins: readonly string[];
  /** The `origins` whose pages may read answers (CORS). */
  readonly sharedWith: readonly string[];
}

export interface Stranger {
  readonly status: 400 | 403 | 421;
  readonly detail: string;
}

/**
 * Matches a token in a URL, by the usual names of its parameter or by the form of Chronicle's own tokens. Such a URL is
 * refused, because proxies and browsers store URLs.
 */
const TOKEN_NAMES = /[?&](access_token|token|api_key|apikey|authorization|bearer)=|chr_[A-Za-z0-9_-]{43}/i;

/**
 * Headers that identify the sender and the receiver. If such a header is sent twice, a proxy may use one value and this
 * server the other. RFC 9112, section 3.2, requires a server to refuse a second `Host`.
 */
const ONCE: ReadonlySet<string> = new Set(["host", "origin", "authorization", "sec-fetch-site"]);
const NO_OTHERS: ReadonlySet<string> = new Set();
/** The values of `Sec-Fetch-Site` in requests that no page of another site has caused. */
const OWN_SITES: ReadonlySet<string> = new Set(["same-origin", "same-site", "none"]);

interface GuardOptions {
  /** Further headers, in lower case, that must not be sent twice (see `ONCE`). */
  readonly alsoOnce?: ReadonlySet<string>;
  /** True if a link on a page of another site may lead to the requested address. Default: false. */
  readonly fromLinks?: boolean;
}

/**
 * Returns why a request is not served; `undefined` if it is served. Needs only the head of the request. Applies to all
 * HTTP, including upgrades to WebSocket.
 *
 * `served` is `"socket"` for a Unix socket, which has no hosts or origins. The rules are:
 *
 * - No header in `ONCE` or `alsoOnce` may be sent twice.
 * - `Host` must be one of `served.hosts`, as a protection against DNS rebinding. On a Unix socket, any `Host` is
 *   allowed.
 * - An `Origin`, if there is one, must be in `served.origins`. On a Unix socket, no `Origin` is allowed.
 * - If a page of another site has caused the request, its origin must be in `served.sharedWith`. With `fromLinks`, any
 *   page may link to the requested address. A frame does not count as a link.
 * - The URL must not contain a token.
 */
export function strangerOf(
  head: RequestHead,
  served: ServedAddresses | "socket",
  { alsoOnce = NO_OTHERS, fromLinks = false }: GuardOptions = {},
): Stranger | undefined {
  const { headers, url } = head;
  const { origin } = headers;
  const doubled = doubledIn(head, alsoOnce);
  if (doubled !== undefined) return { status: 400, detail: `there is more than one ${doubled} header` };
  if (served === "socket") {
    // No page can reach a Unix socket by itself. A request with an origin was passed on by a proxy that does not check
    // origins.
    if (origin !== undefined) return forbidden("this origin is not served on a Unix socket");
  } else {
    if (!served.hosts.includes((headers.host ?? "").toLowerCase()))
      return { status: 421, detail: "this host is not served here" };
    if (origin !== undefined && !served.origins.includes(origin)) return forbidden("this origin is not served");
  }
  const isShared = served !== "socket" && origin !== undefined && served.sharedWith.includes(origin);
  const isOwnSite = OWN_SITES.has((headers["sec-fetch-site"] ?? "none").toString().toLowerCase());
  if (!isOwnSite && !isShared && !(fromLinks && isLink(head)))
    return forbidden("requests from other sites are not served");
  if (!TOKEN_NAMES.test(url)) return undefined;
  const detail =
    "a URL must not contain a token: send Authorization: Bearer TOKEN instead, and revoke the token of this URL";
  return { status: 400, detail };
}

/** True if the browser shows the answer as a whole page. */
function isLink({ headers }: RequestHead): boolean {
  return headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}

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
