import type { ServerResponse } from "node:http";
import type { Problem } from "./problem.ts";

/** On every answer: nothing of it is guessed, framed, run, or kept by somebody in between. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "x-content-type-options": "nosniff",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};

export type Headers = Readonly<Record<string, string>>;

/** A JSON answer. */
export function sendJson(response: ServerResponse, status: number, value: unknown, headers: Headers = {}): void {
  sendText(response, status, JSON.stringify(value), { "content-type": "application/json; charset=utf-8", ...headers });
}

/** What went wrong. What was not read of the request is not waited for: the connection ends with it. */
export function sendProblem(response: ServerResponse, problem: Problem, headers: Headers = {}): void {
  if (response.headersSent) {
    // The client sees that less came than was announced.
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

/** An answer without content. */
export function sendNothing(response: ServerResponse, headers: Headers = {}): void {
  if (response.writableEnded) return;
  response.writeHead(204, { ...SAFE_HEADERS, ...headers });
  response.end();
}

function sendText(response: ServerResponse, status: number, text: string, headers: Headers): void {
  // A server that ends has told whoever waited that it does.
  if (response.writableEnded) return;
  response.writeHead(status, { ...SAFE_HEADERS, ...headers, "content-length": Buffer.byteLength(text) });
  // As text, it is written together with the head.
  response.end(response.req.method === "HEAD" ? undefined : text);
}
