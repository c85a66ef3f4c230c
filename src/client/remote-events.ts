import { createParser, type EventSourceMessage, type ParserCallbacks } from "eventsource-parser";
import type { EventsOptions } from "../api/file-api.ts";
import { followEvents } from "../api/routes/calls/file-calls.ts";
import type { LogEventShape } from "../api/shapes.ts";
import { isPassing, pause, waitOf } from "./retry.ts";
import { unavailable } from "./transport.ts";
import type { Wire } from "./wire.ts";

/** The time without data, in ms, after which the server is considered gone. A server sends a heartbeat every 15 s. */
const SILENCE_MS = 45_000;

/**
 * The longest wait in ms before a new connection. Other requests wait less, but events may have to wait until a server
 * has restarted.
 */
const LONGEST_WAIT = 30_000;

/**
 * Yields the events of a workspace, each once, until `signal` aborts. When the connection breaks, connects again and
 * continues after the last received event. Throws every error that is not temporary. Throws a temporary error only if
 * no connection has succeeded yet.
 */
export async function* remoteEvents(
  wire: Wire,
  params: Readonly<Record<string, string>>,
  options: EventsOptions & { readonly signal: AbortSignal },
): AsyncIterable<LogEventShape> {
  const { signal } = options;
  const rule = { ...wire.retry, longestWait: LONGEST_WAIT };
  const place: Place = { after: options.after, reached: false };
  for (let fruitless = 1; !signal.aborted; fruitless += 1) {
    const begun = Date.now();
    try {
      for await (const event of oneConnection(wire, params, { ...options, place })) {
        fruitless = 0;
        yield event;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!place.reached || !isPassing(error)) throw error;
    }
    // A long connection without events is no failed try, because the workspace may have had no events.
    if (Date.now() - begun > LONGEST_WAIT) fruitless = 0;
    await pause(waitOf(Math.max(fruitless, 1), rule), signal);
  }
}

interface Place {
  /** The seq of the last received event, or the seq after which the first connection begins. */
  after: number | undefined;
  /** True if the server has answered at least once. */
  reached: boolean;
}

async function* oneConnection(
  wire: Wire,
  params: Readonly<Record<string, string>>,
  { place, signal, ...options }: EventsOptions & { readonly signal: AbortSignal; readonly place: Place },
): AsyncIterable<LogEventShape> {
  const silence = new Silence();
  const ended = AbortSignal.any([signal, silence.signal]);
  const asking = followEvents.ask(withAfter({ ...options, signal: ended }, place.after));
  try {
    silence.begin();
    const reply = await wire.open({ call: followEvents, asking: { ...asking, params } });
    place.reached = true;
    // Before the first event, the server sends an id without an event: the seq after which the events begin.
    const onId = (id: string): void => {
      if (place.after === undefined && /^\d+$/.test(id)) place.after = Number(id);
    };
    for await (const { id, data } of sentEvents(silence.watched(reply.body), { onId })) {
      if (id === undefined || !/^\d+$/.test(id)) continue;
      const seq = Number(id);
      if (place.after !== undefined && seq <= place.after) continue;
      place.after = seq;
      yield JSON.parse(data) as LogEventShape;
    }
  } catch (error) {
    throw silence.signal.aborted ? unavailable("the server", "it has been silent for too long") : error;
  } finally {
    silence.end();
  }
}

/**
 * Yields the server-sent events of a body. Calls `onId` with each arriving id, even with an id that belongs to no
 * event.
 */
export async function* sentEvents(
  body: AsyncIterable<Uint8Array>,
  more: Pick<ParserCallbacks, "onId"> = {},
): AsyncIterable<EventSourceMessage> {
  const messages: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => void messages.push(message), ...more });
  const decoder = new TextDecoder();
  for await (const piece of body) {
    parser.feed(decoder.decode(piece, { stream: true }));
    yield* messages.splice(0);
  }
}

function withAfter(options: EventsOptions, after: number | undefined): EventsOptions {
  const { after: _, ...others } = options;
  return after === undefined ? others : { ...others, after };
}

/** Aborts its signal after `SILENCE_MS` of waiting for data. */
class Silence {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async *watched(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const piece of body) {
      // Stop the timer while the consumer works, because nothing is read during that time.
      this.end();
      yield piece;
      this.begin();
    }
  }

  begin(): void {
    this.end();
    this.#timer = setTimeout(() => this.#controller.abort(), SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
