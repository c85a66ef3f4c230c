import { createParser, type EventSourceMessage, type ParserCallbacks } from "eventsource-parser";
import type { EventsOptions } from "../api/file-api.ts";
import { followEvents, followHead } from "../api/routes/calls/file-calls.ts";
import type { HeadChangeShape, LogEventShape } from "../api/shapes.ts";
import type { Progress, ProgressOptions } from "../api/workspace-api.ts";
import { isPassing, pause, retrying, waitOf } from "./retry.ts";
import { unavailable } from "./transport.ts";
import { problemError, type Wire } from "./wire.ts";

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
export function remoteEvents(
  wire: Wire,
  params: Params,
  options: EventsOptions & { readonly signal: AbortSignal },
): AsyncIterable<LogEventShape> {
  const place: Place = { after: options.after, reached: false };
  return reconnected(wire, options.signal, place, async function* (ended) {
    const asking = { ...followEvents.ask(withAfter({ ...options, signal: ended.signal }, place.after)), params };
    // Before the first event, the server sends an id without an event: the seq after which the events begin.
    const onId = (id: string): void => {
      if (place.after === undefined && /^\d+$/.test(id)) place.after = Number(id);
    };
    for await (const { id, data } of messagesOf(await opened(wire, { call: followEvents, asking }, place), ended, {
      onId,
    })) {
      if (id === undefined || !/^\d+$/.test(id)) continue;
      const seq = Number(id);
      if (place.after !== undefined && seq <= place.after) continue;
      place.after = seq;
      yield JSON.parse(data) as LogEventShape;
    }
  });
}

/**
 * Yields how far a workspace's history has grown. Reconnects like `remoteEvents`, but each connection begins with the
 * present head.
 */
export function remoteHead(wire: Wire, params: Params, signal: AbortSignal): AsyncIterable<HeadChangeShape> {
  const place: Place = { after: undefined, reached: false };
  return reconnected(wire, signal, place, async function* (ended) {
    const asking = { ...followHead.ask({ signal: ended.signal }), params };
    for await (const { data } of messagesOf(await opened(wire, { call: followHead, asking }, place), ended))
      yield JSON.parse(data) as HeadChangeShape;
  });
}

/** The status for a problem without a known code, such as `INTERNAL`. */
const UNEXPECTED = 500;

/**
 * Follows the steps of some work, calls `onProgress` with their progress, and resolves to the result of the last one.
 * Throws the error with which the work failed. If the connection breaks, the work begins anew, by the rule for retries.
 */
export async function resultOfSteps<Result>(
  wire: Wire,
  opening: Opening,
  { onProgress, signal }: ProgressOptions & { readonly signal: AbortSignal },
): Promise<Result> {
  const once = async (): Promise<Result> => {
    const steps = oneConnection(signal, async function* (ended) {
      const asking = { ...opening.asking, signal: ended.signal };
      yield* messagesOf(await wire.open({ ...opening, asking }), ended);
    });
    for await (const { event, data } of steps) {
      if (event === "problem") throw problemError(UNEXPECTED, data);
      const step = JSON.parse(data) as { readonly progress?: Progress; readonly result?: Result };
      if (step.progress !== undefined) onProgress?.(step.progress);
      if (step.result !== undefined) return step.result;
    }
    throw unavailable("the server", "it ended its answer before the result");
  };
  return retrying(once, wire.retry, { signal });
}

type Params = Readonly<Record<string, string>>;

interface Place {
  /** The seq of the last received event, or the seq after which the first connection begins. */
  after: number | undefined;
  /** True if the server has answered at least once. */
  reached: boolean;
}

/** Yields the items of one connection after another, until `signal` aborts. */
async function* reconnected<T>(
  wire: Wire,
  signal: AbortSignal,
  place: Place,
  connect: (ended: Ended) => AsyncIterable<T>,
): AsyncIterable<T> {
  const rule = { ...wire.retry, longestWait: LONGEST_WAIT };
  for (let fruitless = 1; !signal.aborted; fruitless += 1) {
    const begun = Date.now();
    try {
      for await (const one of oneConnection(signal, connect)) {
        fruitless = 0;
        yield one;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!place.reached || !isPassing(error)) throw error;
    }
    // A connection that lasted long without an event is not a failed try: the workspace may have had no events.
    if (Date.now() - begun > LONGEST_WAIT) fruitless = 0;
    await pause(waitOf(Math.max(fruitless, 1), rule), signal);
  }
}

/** The two reasons for which a connection ends: the caller's signal, and a silence that lasts too long. */
interface Ended {
  readonly signal: AbortSignal;
  readonly silence: Silence;
}

async function* oneConnection<T>(signal: AbortSignal, connect: (ended: Ended) => AsyncIterable<T>): AsyncIterable<T> {
  const silence = new Silence();
  try {
    silence.begin();
    yield* connect({ signal: AbortSignal.any([signal, silence.signal]), silence });
  } catch (error) {
    throw silence.signal.aborted ? unavailable("the server", "it has been silent for too long") : error;
  } finally {
    silence.end();
  }
}

type Opening = Parameters<Wire["open"]>[0];
type Opened = Awaited<ReturnType<Wire["open"]>>;

async function opened(wire: Wire, opening: Opening, place: Place): Promise<Opened> {
  const reply = await wire.open(opening);
  place.reached = true;
  return reply;
}

function messagesOf(
  { body }: Opened,
  { silence }: Ended,
  more?: Pick<ParserCallbacks, "onId">,
): AsyncIterable<EventSourceMessage> {
  return sentEvents(silence.watched(body), more);
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
