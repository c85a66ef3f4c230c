import type { ServerResponse } from "node:http";
import type { ServerLimits } from "../limits/limits.ts";
import type { Problem } from "./problem.ts";
import { SAFE_HEADERS } from "./send.ts";
import { writeTo } from "../limits/slow-peer.ts";

export interface EventsToSend {
  /** The events begin after this seq. */
  readonly after: number;
  readonly events: AsyncIterable<{ readonly seq: number }>;
  readonly limits: ServerLimits;
  /**
   * Aborts when the server is told to end. The stream then ends after the event that is being sent, and the client
   * reconnects.
   */
  readonly stopping: AbortSignal;
  /**
   * Called with each heartbeat. The promise resolves to false if the caller's token is no longer valid. The connection
   * is then closed. It is also closed if the promise rejects.
   */
  readonly isStillAdmitted: () => Promise<boolean>;
  /**
   * For events that end with some work. Returns the problem for an error of the work. The problem is sent as the last
   * event. Default: an error is thrown, and the client learns of it when it connects again.
   */
  readonly problemOf?: (error: unknown) => Problem;
}

/** The time after which a client reconnects, in milliseconds. */
const RETRY_MS = 1_000;

/**
 * Sends events as server-sent events: `id` is the seq and `data` is the event. Each event is requested only after the
 * previous one was written to the client, so that events for a slow client do not collect in memory. The connection of
 * a client that reads nothing is closed. The client can continue with `Last-Event-ID`.
 */
export async function sendEvents(
  response: ServerResponse,
  { after, events, limits, stopping, isStillAdmitted, problemOf }: EventsToSend,
): Promise<void> {
  response.writeHead(200, {
    ...SAFE_HEADERS,
    "content-type": "text/event-stream; charset=utf-8",
    // Without this header, proxies such as nginx would buffer the stream.
    "x-accel-buffering": "no",
  });
  if (response.req.method === "HEAD") return void response.end();
  response.write(`retry: ${RETRY_MS}\nid: ${after}\n\n`);
  const heartbeat = setInterval(() => {
    // A client that still has to read earlier data needs no heartbeat.
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
  } catch (error) {
    if (problemOf === undefined) throw error;
    await writeTo(response, problemText(problemOf(error)), limits.slowMs);
  } finally {
    clearInterval(heartbeat);
    response.end();
  }
}

function problemText(problem: Problem): Buffer {
  return Buffer.from(`event: problem\ndata: ${JSON.stringify(problem)}\n\n`);
}

/**
 * Maps an event to its encoded text. Each event is encoded only once, because all followers of a workspace get the same
 * event object.
 */
const texts = new WeakMap<object, Buffer>();

function textOf(event: { readonly seq: number }): Buffer {
  const known = texts.get(event);
  if (known !== undefined) return known;
  // One `data` line is enough, because the result of `JSON.stringify` has no line breaks. A browser passes events of
  // the type `message` to `onmessage`.
  const text = Buffer.from(`id: ${event.seq}\nevent: message\ndata: ${JSON.stringify(event)}\n\n`);
  texts.set(event, text);
  return text;
}
