import type { ServerResponse } from "node:http";
import type { ServerLimits } from "./limits.ts";
import { SAFE_HEADERS } from "./send.ts";
import { writeTo } from "./slow-peer.ts";

/** Events to be sent as they come. */
export interface EventsToSend {
  readonly after: number;
  readonly events: AsyncIterable<{ readonly seq: number }>;
  readonly limits: ServerLimits;
  /** Ends it, whole: the client comes again by itself. */
  readonly stopping: AbortSignal;
}

/** How long a browser waits before it comes again, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Sends events as server-sent events: `id` is the seq, `data` the event. No event is fetched
 * before the one before it was taken, so a slow reader holds nothing; one that takes nothing is cut off, and resumes by
 * `Last-Event-ID`.
 */
export async function sendEvents(
  response: ServerResponse,
  { after, events, limits, stopping }: EventsToSend,
): Promise<void> {
  response.writeHead(200, {
    ...SAFE_HEADERS,
    "content-type": "text/event-stream; charset=utf-8",
    // For proxies that would collect what comes.
    "x-accel-buffering": "no",
  });
  if (response.req.method === "HEAD") return void response.end();
  response.write(`retry: ${RETRY_MS}\nid: ${after}\n\n`);
  const heartbeat = setInterval(() => {
    // A reader that has not taken what came before needs no sign that we live.
    if (!response.writableNeedDrain) response.write(":\n\n");
  }, limits.heartbeatMs);
  try {
    for await (const event of events) {
      if (!(await writeTo(response, textOf(event), limits.slowMs))) return;
      if (stopping.aborted) break;
    }
  } finally {
    clearInterval(heartbeat);
    response.end();
  }
}

function textOf(event: { readonly seq: number }): string {
  // JSON has no line breaks, so one line of data holds all of it. A browser's `onmessage` gets these.
  return `id: ${event.seq}\nevent: message\ndata: ${JSON.stringify(event)}\n\n`;
}
