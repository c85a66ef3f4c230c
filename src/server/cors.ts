import type { IncomingMessage, ServerResponse } from "node:http";
import type { TcpDoor } from "./door.ts";

const ALLOWED_HEADERS = "authorization, content-type, idempotency-key, if-match, if-none-match, last-event-id, range";
const EXPOSED_HEADERS = "content-range, etag, retry-after, x-chronicle-file";
const ALLOWED_METHODS = "GET, HEAD, PUT, POST, DELETE";

/**
 * Lets the pages of an allowed origin read answers; no other, and never `*`. Returns whether the request was a question
 * about that (a preflight, which bears no token), and is answered.
 */
export function shareWith(request: IncomingMessage, response: ServerResponse, door: TcpDoor): boolean {
  const { origin } = request.headers;
  if (origin === undefined || !door.sharedWith.includes(origin)) return false;
  if (!door.hosts.includes((request.headers.host ?? "").toLowerCase())) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("vary", "origin");
  response.setHeader("access-control-expose-headers", EXPOSED_HEADERS);
  if (request.method !== "OPTIONS" || request.headers["access-control-request-method"] === undefined) return false;
  response.setHeader("access-control-allow-methods", ALLOWED_METHODS);
  response.setHeader("access-control-allow-headers", ALLOWED_HEADERS);
  response.setHeader("access-control-max-age", "600");
  response.writeHead(204);
  response.end();
  return true;
}
