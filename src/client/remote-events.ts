import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { EventsOptions } from "../api/file-api.ts";
import { followEvents } from "../api/routes/calls/file-calls.ts";
import type { LogEventShape } from "../api/shapes.ts";
import { isPassing, pause, waitOf } from "./retry.ts";
import { unavailable } from "./unavailable.ts";
import type { Wire } from "./wire.ts";

/** A server says something every 15 s: whoever is silent for three times as long is gone. */
const SILENCE_MS = 45_000;

/** Longest wait for a server that was there, and is gone: it may be starting again. */
const LONGEST_WAIT = 30_000;

/**
 * Events of a workspace, each once, for as long as nobody ends it: where the connection breaks, it is made anew, and they go on
 * after the last one that came. Throws what the server says, and `UNAVAILABLE` where there was none to begin with.
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
    // Whoever was connected for a while, and heard nothing, met with a quiet workspace.
    if (Date.now() - begun > LONGEST_WAIT) fruitless = 0;
    await pause(waitOf(Math.max(fruitless, 1), rule), signal);
  }
}

interface Place {
  /** The seq after which events go on. */
  after: number | undefined;
  /** Did the server answer once? */
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
    const messages: EventSourceMessage[] = [];
    const parser = createParser({
      onEvent: (message) => void messages.push(message),
      onId: (id) => {
        // Where events begin, told before the first of them.
        if (place.after === undefined && /^\d+$/.test(id)) place.after = Number(id);
      },
    });
    const decoder = new TextDecoder();
    for await (const piece of reply.body) {
      silence.begin();
      parser.feed(decoder.decode(piece, { stream: true }));
      for (const { id, data } of messages.splice(0)) {
        if (id === undefined || !/^\d+$/.test(id)) continue;
        const seq = Number(id);
        if (place.after !== undefined && seq <= place.after) continue;
        place.after = seq;
        yield JSON.parse(data) as LogEventShape;
      }
    }
  } catch (error) {
    throw silence.signal.aborted ? unavailable("the server", "it has been silent for too long") : error;
  } finally {
    silence.end();
  }
}

function withAfter(options: EventsOptions, after: number | undefined): EventsOptions {
  const { after: _, ...others } = options;
  return after === undefined ? others : { ...others, after };
}

/** Ends what has heard nothing for too long. */
class Silence {
  readonly #controller = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  begin(): void {
    this.end();
    this.#timer = setTimeout(() => this.#controller.abort(), SILENCE_MS);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
