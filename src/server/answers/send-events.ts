import type { ServerResponse } from "node:http";
import type { ServerLimits } from "../limits/limits.ts";
import { SAFE_HEADERS } from "./send.ts";
import { writeTo } from "../limits/slow-peer.ts";

/** A stream of events, and the conditions for its end. */
export interface EventsToSend {
  /** The seq after which the events begin. */
  readonly after: number;
  readonly events: AsyncIterable<{ readonly seq: number }>;
  readonly limits: ServerLimits;
  /** Aborted when the server is told to end. The stream then ends after an event; the client reconnects by itself. */
  readonly stopping: AbortSignal;
  /** Called with each heartbeat. A stream ends when its token is not valid any more. */
  readonly isStillAdmitted: () => Promise<boolean>;
}

/** The time after which a client reconnects, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Sends events as server-sent events: `id` is the seq, `data` the event. Gets each event only after the client has
 * taken the previous event, so that a slow client needs no memory. A client that takes nothing is cut off; it may
 * resume by `Last-Event-ID`.
 */
export async function sendEvents(
  response: ServerResponse,
  { after, events, limits, stopping, isStillAdmitted }: EventsToSend,
): Promise<void> {
  response.writeHead(200, {
    ...SAFE_HEADERS,
    "content-type": "text/event-stream; charset=utf-8",
    // Proxies such as nginx would buffer the stream otherwise.
    "x-accel-buffering": "no",
  });
  if (response.req.method === "HEAD") return void response.end();
  response.write(`retry: ${RETRY_MS}\nid: ${after}\n\n`);
  const heartbeat = setInterval(() => {
    // A client with unread data needs no heartbeat.
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

/** The texts of events. All followers of a workspace get the same object, so that its text is made once. */
const texts = new WeakMap<object, Buffer>();

function textOf(event: { readonly seq: number }): Buffer {
  const known = texts.get(event);
  if (known !== undefined) return known;
  // JSON has no line breaks here, so one `data` line holds all of it. A browser passes `message` events to `onmessage`.
  const text = Buffer.from(`id: ${event.seq}\nevent: message\ndata: ${JSON.stringify(event)}\n\n`);
  texts.set(event, text);
  return text;
}
