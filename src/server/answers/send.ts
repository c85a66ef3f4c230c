import type { Duplex } from "node:stream";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { makeProblem, type Problem } from "./problem.ts";

/**
 * Headers of each answer of the app, and of each problem that `sendProblem` or `replyProblem` sends. Browsers must not
 * guess the type of the answer, show it in a frame, run it or read it across origins; nobody may cache it. An answer
 * with a content replaces `cache-control`.
 */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export type Headers = Readonly<Record<string, string>>;

/** Sends a problem for a request that is not handled by Fastify. */
export function sendProblem(response: ServerResponse, problem: Problem, headers: Headers = {}): void {
  if (response.headersSent) return cutShort(response);
  // `HttpServer.close` has refused this request already.
  if (response.writableEnded) return;
  const text = JSON.stringify(problem);
  const length = { "content-length": Buffer.byteLength(text) };
  response.writeHead(problem.status, { ...problemHeaders(response.req), ...headers, ...length });
  // Text is written together with the head.
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** Sends a problem for a request that Fastify handles. */
export function replyProblem(reply: FastifyReply, problem: Problem, headers: Headers = {}): void {
  if (reply.raw.headersSent) return cutShort(reply.raw);
  // Fastify has set this header to close the connection, since it could not parse the body. `problemHeaders` decides
  // whether that is necessary.
  if (reply.hasHeader("connection")) return sendProblem(reply.hijack().raw, problem, headers);
  reply
    .code(problem.status)
    .headers({ ...problemHeaders(reply.request.raw), ...headers })
    .send(problem);
}

/** Ends the connection in the middle of an answer, by which the client sees that the answer is not whole. */
function cutShort(response: ServerResponse): void {
  response.destroy();
}

/** Returns the headers of a problem. If the request was not read to its end, the connection is closed. */
function problemHeaders({ complete }: IncomingMessage): Headers {
  return {
    ...SAFE_HEADERS,
    "content-type": "application/problem+json; charset=utf-8",
    ...(complete ? {} : { connection: "close" }),
  };
}

/** The time within which a refused client must close the connection, in milliseconds. */
const LEAVE_MS = 1_000;

/**
 * Refuses an upgrade with an HTTP status, without a body. Cuts the connection off after `LEAVE_MS` if the client does
 * not close it, since the limits of the HTTP server do not cover it any more.
 */
export function endUpgrade(socket: Duplex, status: number): void {
  const { title } = makeProblem(status, "", "");
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once("close", () => clearTimeout(timer));
  // Discards further input: the end of the connection is noticed only after all input was read.
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}
