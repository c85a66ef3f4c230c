import type { Duplex } from "node:stream";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { makeProblem, type Problem } from "./problem.ts";

/**
 * The headers of each answer of the app, and of each problem. They forbid browsers to guess the type of an answer, to
 * show it in a frame, to run it, to read it across origins, and to cache it. An answer with a content has a
 * `cache-control` of its own.
 */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export type Headers = Readonly<Record<string, string>>;

/**
 * Sends a problem for a request that Fastify does not handle. If an answer has begun but is not complete, closes the
 * connection instead.
 */
export function sendProblem(response: ServerResponse, problem: Problem, headers: Headers = {}): void {
  if (response.headersSent) return cutShort(response);
  const text = JSON.stringify(problem);
  const length = { "content-length": Buffer.byteLength(text) };
  response.writeHead(problem.status, { ...problemHeaders(response.req), ...headers, ...length });
  // Pass a string to `end`, because Node writes a string together with the head.
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/**
 * Sends a problem for a request that Fastify handles. If an answer has begun but is not complete, closes the connection
 * instead.
 */
export function replyProblem(reply: FastifyReply, problem: Problem, headers: Headers = {}): void {
  if (reply.raw.headersSent) return cutShort(reply.raw);
  // Fastify has set `connection: close` if it could not parse the body. Send the problem past Fastify (`hijack`),
  // without this header, because `problemHeaders` decides whether the connection must be closed.
  if (reply.hasHeader("connection")) return sendProblem(reply.hijack().raw, problem, headers);
  reply
    .code(problem.status)
    .headers({ ...problemHeaders(reply.request.raw), ...headers })
    .send(problem);
}

/**
 * Closes the connection in the middle of an answer, so that the client detects that the answer is incomplete. Does
 * nothing if the answer is complete, even if it is still being sent. The answer is complete if `HttpServer.close` has
 * already refused the request.
 */
function cutShort(response: ServerResponse): void {
  if (response.writableEnded) return;
  response.destroy();
}

/** Returns the headers of a problem. They close the connection if the request was not read to its end. */
function problemHeaders({ complete }: IncomingMessage): Headers {
  return {
    ...SAFE_HEADERS,
    "content-type": "application/problem+json; charset=utf-8",
    ...(complete ? {} : { connection: "close" }),
  };
}

/** The maximum time until a refused client has closed the connection, in milliseconds. */
const LEAVE_MS = 1_000;

/**
 * Refuses an upgrade with an HTTP status and no body. The connection is closed after `LEAVE_MS` at the latest, because
 * the limits of the HTTP server do not apply to an upgraded connection.
 */
export function endUpgrade(socket: Duplex, status: number): void {
  const { title } = makeProblem(status, "", "");
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once("close", () => clearTimeout(timer));
  // Discard further input, because the end of the connection is only detected after all input was read.
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
