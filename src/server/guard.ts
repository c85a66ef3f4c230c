import type { IncomingHttpHeaders } from "node:http";
import type { ErrorCode } from "../core/errors.ts";
import type { Door } from "./door.ts";

/** What is known of a request before anything of it is read. */
export interface RequestHead {
  readonly headers: IncomingHttpHeaders;
  /** As the request line has it. */
  readonly url: string;
}

/** Why a request is not served. */
export interface Refusal {
  readonly status: number;
  readonly code: ErrorCode;
  readonly detail: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Names under which people put tokens into addresses, where logs and histories keep them. */
const TOKEN_NAMES = /[?&](access_token|token|api_key|apikey|authorization|bearer)=|chr_[A-Za-z0-9_-]{43}/i;

/**
 * Keeps other web pages out before anything of a request is parsed, on every surface (also an upgrade to WebSocket):
 * `Host` must be one of ours with our port, else a name that was bent to this machine reaches it; an `Origin`, if there is
 * one, must be ours or allowed; nothing may come from another site; and no token may stand in the address.
 */
export function refusalOf({ headers, url }: RequestHead, door: Door): Refusal | undefined {
  const { origin } = headers;
  if (door.kind === "socket") {
    // No page can reach a Unix socket by itself: what has an origin was passed on by somebody who does not look.
    if (origin !== undefined) return forbidden("this origin is not served on a Unix socket");
  } else {
    const host = (headers.host ?? "").toLowerCase();
    if (!door.hosts.includes(host)) {
      return {
        status: 421,
        code: "FORBIDDEN",
        detail: "this host is not served here: the server is told its names by --allow-host NAME",
      };
    }
    if (origin !== undefined && !door.origins.includes(origin)) return forbidden("this origin is not served");
  }
  const isShared = door.kind === "tcp" && origin !== undefined && door.sharedWith.includes(origin);
  if (headers["sec-fetch-site"] === "cross-site" && !isShared) return forbidden("not from another site");
  if (TOKEN_NAMES.test(url)) {
    const detail = "a token does not belong into an address: send Authorization: Bearer TOKEN, and revoke this one";
    return { status: 400, code: "USAGE", detail };
  }
  return undefined;
}

function forbidden(detail: string): Refusal {
  return { status: 403, code: "FORBIDDEN", detail };
}
