import type { ServerResponse } from "node:http";
import type { ServerLimits } from "../limits/limits.ts";
import { SAFE_HEADERS } from "./send.ts";
import { writeTo } from "../limits/slow-peer.ts";

/** Events to be sent as they come. */
export interface EventsToSend {
  readonly after: number;
  readonly events: AsyncIterable<{ readonly seq: number }>;
  readonly limits: ServerLimits;
  /** Ends the stream after a whole event; the client reconnects by itself. */
  readonly stopping: AbortSignal;
  /** Checked with each heartbeat, so that a revoked or expired token holds no stream open. */
  readonly isStillAdmitted: () => Promise<boolean>;
}

/** The time after which a browser reconnects, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Sends events as server-sent events: `id` is the seq, `data` the event. Fetches no event before the previous one was
 * taken, so a slow reader holds nothing. A reader that takes nothing is cut off, and resumes by `Last-Event-ID`.
 */
export async function sendEvents(
  response: ServerResponse,
  { after, events, limits, stopping, isStillAdmitted }: EventsToSend,
): Promise<void> {
  response.writeHead(200, {
    ...SAFE_HEADERS,
    "content-type": "text/event-stream; charset=utf-8",
    // For proxies that would buffer the stream.
    "x-accel-buffering": "no",
  });
  if (response.req.method === "HEAD") return void response.end();
  response.write(`retry: ${RETRY_MS}\nid: ${after}\n\n`);
  const heartbeat = setInterval(() => {
    // A reader with unread data needs no heartbeat.
    if (!response.writableNeedDrain) response.write(":\n\n");
    isStillAdmitted().then(
      (isIn) => isIn || response.destroy(),
      () => response.destroy(),
    );
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

/** All followers of a workspace get the same event, so its text is made once. */
const texts = new WeakMap<object, Buffer>();

function textOf(event: { readonly seq: number }): Buffer {
  const known = texts.get(event);
  if (known !== undefined) return known;
  // JSON has no line breaks, so one `data` line holds all of it. A browser's `onmessage` receives it.
  const text = Buffer.from(`id: ${event.seq}\nevent: message\ndata: ${JSON.stringify(event)}\n\n`);
  texts.set(event, text);
  return text;
}
