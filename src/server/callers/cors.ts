import type { IncomingMessage, ServerResponse } from "node:http";
import type { FileShape } from "../../api/file-api.ts";
import { ACTING, contentHeaders, HINTS_HEADER } from "../../api/routes/content-headers.ts";
import type { TcpListener } from "./listener.ts";

/** A placeholder with all optional fields, from which `contentHeaders` makes the names of all headers about files. */
const ANY_FILE: FileShape = {
  path: "",
  path_b64: "",
  kind: "file",
  size: 0,
  hash: "",
  permissions: 0,
  mtime_ms: 0,
  mtime_ns: 0,
  iteration: 0,
  seq: 0,
};
/** The request headers that a page of another origin may send. */
const ALLOWED_HEADERS = [
  ...["authorization", "content-type", "idempotency-key", "if-match", "if-none-match", "last-event-id", "range"],
  ...[...Object.values(ACTING), HINTS_HEADER],
].join(", ");
/** The response headers that a page of another origin may read. */
const EXPOSED_HEADERS = ["content-range", "etag", "retry-after", ...Object.keys(contentHeaders(ANY_FILE))].join(", ");
const ALLOWED_METHODS = "GET, HEAD, PUT, POST, DELETE";

/**
 * Sets the CORS headers with which a page of another origin can read the answer. Does nothing unless that origin is in
 * `listener.sharedWith`, and the listener serves the request's host. Answers a preflight request at once, because
 * browsers send it without a token, so that it could not be admitted. Returns true if the request was answered.
 */
export function shareWith(request: IncomingMessage, response: ServerResponse, listener: TcpListener): boolean {
  const { origin } = request.headers;
  if (origin === undefined || !listener.sharedWith.includes(origin)) return false;
  if (!listener.hosts.includes((request.headers.host ?? "").toLowerCase())) return false;
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
