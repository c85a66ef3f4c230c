import type { ServerResponse } from "node:http";
import type { Problem } from "./problem.ts";

/** Headers of every answer: its type is not guessed, and it is not framed, run, or cached by proxies. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export type Headers = Readonly<Record<string, string>>;

/** Sends a JSON answer. */
export function sendJson(response: ServerResponse, status: number, value: unknown, headers: Headers = {}): void {
  sendText(response, status, JSON.stringify(value), { "content-type": "application/json; charset=utf-8", ...headers });
}

/** Sends a problem. Unread parts of the request are not waited for: the connection is closed. */
export function sendProblem(response: ServerResponse, problem: Problem, headers: Headers = {}): void {
  if (response.headersSent) {
    // The client sees that less arrived than was announced.
    response.destroy();
    return;
  }
  const isRead = response.req.complete;
  sendText(response, problem.status, JSON.stringify(problem), {
    "content-type": "application/problem+json; charset=utf-8",
    ...(isRead ? {} : { connection: "close" }),
    ...headers,
  });
}

/** Sends an answer without content. */
export function sendNothing(response: ServerResponse, headers: Headers = {}): void {
  if (response.writableEnded) return;
  response.writeHead(204, { ...SAFE_HEADERS, ...headers });
  response.end();
}

function sendText(response: ServerResponse, status: number, text: string, headers: Headers): void {
  // A server that is ending has already told waiting clients so.
  if (response.writableEnded) return;
  response.writeHead(status, { ...SAFE_HEADERS, ...headers, "content-length": Buffer.byteLength(text) });
  // Text is written together with the head.
  response.end(response.req.method === "HEAD" ? undefined : text);
}
