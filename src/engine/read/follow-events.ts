import type { EventsOptions } from "../../api/file-api.ts";
import type { LogEventShape } from "../../api/shapes.ts";
import type { EventFeed } from "./event-feed.ts";

/**
 * Yields events as they are recorded: those after `after` from the log, page by page, then new ones as they come. A
 * slow reader falls behind, and holds nothing up. This call settles what "from now on" means, not the first read of its
 * result.
 */
export function followEvents(feed: EventFeed, options: EventsOptions): AsyncIterable<LogEventShape> {
  const end = feed.end();
  const start = options.after === undefined ? end : end.then(() => options.after ?? 0);
  // The code that iterates gets this error.
  start.catch(() => undefined);
  return {
    [Symbol.asyncIterator]: () =>
      endable((ended) => follow(feed, { start, prefix: options.prefix ?? "", ended }), options),
  };
}

interface Following {
  readonly start: Promise<number>;
  readonly prefix: string;
  readonly ended: AbortSignal;
}

async function* follow(feed: EventFeed, { start, prefix, ended }: Following): AsyncGenerator<LogEventShape, undefined> {
  if (ended.aborted) return;
  let last = await start;
  using _seat = feed.join();
  await feed.begin(last);
  for (;;) {
    const events = await feed.after(last, ended);
    if (events === undefined) return;
    for (const event of events) {
      if (ended.aborted) return;
      last = event.seq;
      if (event.record_id.startsWith(prefix)) yield event;
    }
  }
}

/** A generator that ends at once when it is told to, also while it waits: by itself it would only be asked in between. */
function endable<T>(
  make: (ended: AbortSignal) => AsyncGenerator<T, undefined>,
  { signal }: Pick<EventsOptions, "signal">,
): AsyncIterableIterator<T> {
  const end = new AbortController();
  const generator = make(end.signal);
  const onAbort = (): void => end.abort();
  if (signal?.aborted === true) end.abort();
  else signal?.addEventListener("abort", onAbort, { once: true, signal: end.signal });
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: async () => {
      try {
        const result = await generator.next();
        if (result.done === true) end.abort();
        return result;
      } catch (error) {
        end.abort();
        throw error;
      }
    },
    return: async () => {
      end.abort();
      return generator.return(undefined);
    },
  };
}
