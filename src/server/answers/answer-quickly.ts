import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Connection, RouteMatch, ServerReply } from "./server-route.ts";
import { SAFE_HEADERS, sendProblem } from "./send.ts";
import { makeProblem, type Report, unexpectedProblem } from "./problem.ts";

/** The maximum time until the body of a request has arrived, in milliseconds. */
const BODY_MS = 60_000;

class BodyTooLarge extends Error {}

export interface QuickAnswering {
  readonly found: RouteMatch;
  readonly isOwner: boolean;
  readonly report: Report;
}

/** Answers a request by its quick route. Sends a problem if the body is too large (413) or the route fails. */
export async function answerQuickly(
  request: IncomingMessage,
  response: ServerResponse,
  { found, isOwner, report }: QuickAnswering,
): Promise<void> {
  const { route, params } = found;
  const { method = "GET", headers, url = "/" } = request;
  const [path = "/", search = ""] = url.split("?", 2);
  try {
    const body = await bodyOf(request, route.maxBody);
    const query = new URLSearchParams(search);
    const connection = connectionOf(request.socket);
    sendReply(response, await route.handle({ method, path, params, query, headers, body, isOwner, connection }));
  } catch (error) {
    if (error instanceof BodyTooLarge) return sendProblem(response, makeProblem(413, "LIMIT_EXCEEDED", error.message));
    sendProblem(response, unexpectedProblem(error, { report }));
  }
}

function connectionOf(socket: Socket): Connection | undefined {
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (localAddress === undefined || localPort === undefined) return undefined;
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  return { here: { address: localAddress, port: localPort }, there: { address: remoteAddress, port: remotePort } };
}

/** Sends a reply. Does nothing if an answer was already sent. */
export function sendReply(response: ServerResponse, { status, headers, body }: ServerReply): void {
  if (response.writableEnded) return;
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  response.writeHead(status, { ...SAFE_HEADERS, ...headers, "content-length": bytes.length });
  response.end(bytes);
}

async function bodyOf(request: IncomingMessage, most: number): Promise<Buffer> {
  const tooLarge = (): BodyTooLarge => new BodyTooLarge(`at most ${most} bytes are accepted`);
  if (Number(request.headers["content-length"] ?? 0) > most) throw tooLarge();
  const timer = setTimeout(() => request.destroy(), BODY_MS);
  try {
    const pieces: Buffer[] = [];
    let size = 0;
    for await (const piece of request) {
      const bytes = Buffer.from(piece as Uint8Array);
      size += bytes.length;
      if (size > most) throw tooLarge();
      pieces.push(bytes);
    }
    return Buffer.concat(pieces);
  } finally {
    clearTimeout(timer);
  }
}
