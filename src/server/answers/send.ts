import type { Duplex } from "node:stream";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import { makeProblem, type Problem } from "./problem.ts";

/** The time that a refused client has for closing the connection, in milliseconds. */
const LEAVE_MS = 1_000;

/**
 * Refuses an upgrade in the protocol of the request, without a body. No HTTP limit covers the connection any more, so
 * one that its client does not close is cut off.
 */
export function endUpgrade(socket: Duplex, status: number): void {
  const { title } = makeProblem(status, "", "");
  const timer = setTimeout(() => socket.destroy(), LEAVE_MS);
  socket.once("close", () => clearTimeout(timer));
  // Discards further input: unread, it would hide the end of the connection.
  socket.resume();
  socket.end(`HTTP/1.1 ${status} ${title}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
}

/** Headers of every answer: its type is not guessed, and it is not framed, run, or cached by proxies. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export type Headers = Readonly<Record<string, string>>;

/** Sends a problem of a request that Fastify has not got. */
export function sendProblem(response: ServerResponse, problem: Problem, headers: Headers = {}): void {
  if (response.headersSent) return cutShort(response);
  // A server that is ending has already told waiting clients so.
  if (response.writableEnded) return;
  const text = JSON.stringify(problem);
  const length = { "content-length": Buffer.byteLength(text) };
  response.writeHead(problem.status, { ...problemHeaders(response.req), ...headers, ...length });
  // Text is written together with the head.
  response.end(response.req.method === "HEAD" ? undefined : text);
}

/** Sends a problem. */
export function replyProblem(reply: FastifyReply, problem: Problem, headers: Headers = {}): void {
  if (reply.raw.headersSent) return cutShort(reply.raw);
  // Fastify closes the connection after each body that it could not parse, even one that it has read whole.
  if (reply.hasHeader("connection")) return sendProblem(reply.hijack().raw, problem, headers);
  reply
    .code(problem.status)
    .headers({ ...problemHeaders(reply.request.raw), ...headers })
    .send(problem);
}

/** The client sees that less arrived than was announced. */
function cutShort(response: ServerResponse): void {
  response.destroy();
}

/** Unread parts of the request are not waited for: the connection is closed. */
function problemHeaders({ complete }: IncomingMessage): Headers {
  return {
    ...SAFE_HEADERS,
    "content-type": "application/problem+json; charset=utf-8",
    ...(complete ? {} : { connection: "close" }),
  };
}
