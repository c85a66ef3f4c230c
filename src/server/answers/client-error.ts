import type { Duplex } from "node:stream";
import { makeProblem, type Problem } from "./problem.ts";

/** Problems by the error codes of Node's parser and timers. */
const KNOWN: Readonly<Record<string, Problem>> = {
  HPE_HEADER_OVERFLOW: makeProblem(431, "LIMIT_EXCEEDED", "the headers of this request are larger than is taken here"),
  HPE_CHUNK_EXTENSIONS_OVERFLOW: makeProblem(
    413,
    "LIMIT_EXCEEDED",
    "the chunks of this body say too much of themselves",
  ),
  ERR_HTTP_REQUEST_TIMEOUT: makeProblem(408, "USAGE", "this request took too long to arrive"),
};
const MALFORMED = makeProblem(400, "USAGE", "this request is not well formed");

/**
 * Tells a client why its connection is closed, if nothing was answered on it yet: bytes that are not HTTP make no
 * request that could be answered. Does nothing if the client is gone.
 */
export function endBadConnection(error: Error, socket: Duplex & { readonly bytesWritten?: number }): void {
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  const isOurs = code.startsWith("HPE_") || Object.hasOwn(KNOWN, code);
  // In the middle of an answer, the client would take this for a part of it.
  if (!isOurs || !socket.writable || (socket.bytesWritten ?? 0) > 0) {
    socket.destroy();
    return;
  }
  const problem = KNOWN[code] ?? MALFORMED;
  const body = JSON.stringify(problem);
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.title}`,
    "Content-Type: application/problem+json",
    "X-Content-Type-Options: nosniff",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
