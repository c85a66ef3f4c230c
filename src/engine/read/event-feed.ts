import type { LogEventShape } from "../../api/shapes.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { readEventFast } from "../../core/log/chain.ts";
import { ChronicleError, withCode } from "../../core/values/errors.ts";
import type { HistoryContext, Context, Recorded } from "../log/context.ts";
import { oldestSeq } from "../log/history-start.ts";
import { isInBase } from "../log/read-base.ts";
import { answer } from "../log/answer.ts";
import type { CatchUp } from "../log/catch-up.ts";
import type { EventsOptions } from "../../api/file-api.ts";

/**
 * The interval, in milliseconds, at which the log is checked for events of other processes. The checks run only while
 * there are followers.
 */
const LOOK_MS = 100;

/**
 * The maximum number of new events that the feed reads at once. If the log has grown by more events since the last
 * read, the feed begins anew at the end of the log. Followers then read the skipped events from the log, page by page.
 */
const FAR = 1_000;

/**
 * Distributes the events of a workspace to all followers in this process. For followers that keep up, each event is
 * read and parsed only once. A follower that is behind reads pages of the log. A signal announces the events that this
 * process records. To find the events of other processes, the end of the log is read regularly. Lines at the end of the
 * log can be removed again until the index has them, so followers get only events that the index has.
 */
export class EventFeed {
  readonly #context: Context;
  readonly #waiting = new Set<() => void>();
  /**
   * Maps the first seq of each page that is being read to the promise of the page's events. Followers at the same
   * position share one read.
   */
  readonly #pages = new Map<number, Promise<readonly LogEventShape[]>>();
  #latest: LatestEvents | undefined;
  #followers = 0;
  #timer: NodeJS.Timeout | undefined;
  #listening: Disposable | undefined;
  #reading: Promise<void> | undefined;
  #again = false;
  #bytes = -1;
  #failure: { readonly error: unknown } | undefined;
  #closed = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Returns the seq of the last event that the log has now. Throws `USAGE` once the workspace is closed. */
  async end(): Promise<number> {
    if (this.#closed) throw new ChronicleError("USAGE", "this workspace has been closed", { hint: "open it again" });
    return withCode(async () => (await this.#context.log.refresh()).seq);
  }

  /**
   * Adds a follower, and returns an object that removes the follower when disposed. The first follower starts the feed,
   * and the removal of the last one stops it.
   */
  join(): Disposable {
    this.#followers += 1;
    if (this.#followers === 1 && !this.#closed) this.#start();
    let isIn = true;
    return {
      [Symbol.dispose]: () => {
        if (!isIn) return;
        isIn = false;
        this.#followers -= 1;
        if (this.#followers === 0) this.#stop();
      },
    };
  }

  /** Reads the log up to its end. Throws `NOT_FOUND` if the log has no event `last` yet. */
  async begin(last: number): Promise<void> {
    await this.#read();
    const known = this.#latest?.last ?? last;
    if (last <= known || this.#closed) return;
    throw new ChronicleError("NOT_FOUND", `there is no event ${last} yet: the last one is ${known}`, {
      hint: `continue after event ${known}`,
      data: { seq: last, after: known },
    });
  }

  /**
   * Waits for events after `last`, and returns the next ones, at least one. Returns `undefined` if the workspace was
   * closed or `ended` was aborted. Throws if the log cannot be read, or if events after `last` are no longer in the
   * log.
   */
  async after(last: number, ended: AbortSignal): Promise<readonly LogEventShape[] | undefined> {
    for (;;) {
      if (ended.aborted || this.#closed) return undefined;
      if (this.#failure !== undefined) throw this.#failure.error;
      const latest = this.#latest?.after(last);
      if (latest === undefined) return this.#page(last + 1);
      if (latest.length > 0) return latest;
      await this.#more(ended);
    }
  }

  /** Ends all followers, and resolves once no read is in progress. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    this.#wake();
    await Promise.allSettled([this.#reading, ...this.#pages.values()]);
  }

  #start(): void {
    this.#listening = this.#context.recorded.listen((recorded) => this.#take(recorded));
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#listening?.[Symbol.dispose]();
    this.#latest = undefined;
    this.#failure = undefined;
    this.#bytes = -1;
  }

  /**
   * Adds events that this process has just recorded to the latest events. If events are missing in between, reads the
   * log.
   */
  #take({ events }: Recorded): void {
    const latest = this.#latest;
    if (latest === undefined) return;
    const isNext = events.every((event) => latest.push(eventShape(event), event.line.length));
    if (isNext) this.#wake();
    else void this.#read().catch((error: unknown) => this.#fail(error));
  }

  /** Reads the log if it has grown. Does nothing while a read is in progress. */
  async #look(): Promise<void> {
    if (this.#reading !== undefined || this.#latest === undefined) return;
    try {
      const { seq, bytes } = await this.#context.log.refresh();
      if (seq !== this.#latest?.last && bytes !== this.#bytes) await this.#read();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Reads the events after the latest known one. A call during a read causes one more read. */
  #read(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#readOn();
    return this.#reading;
  }

  /**
   * Reads as long as reads are requested. No request is missed, because no other code runs between the last check of
   * `#again` and the end of this function.
   */
  async #readOn(): Promise<void> {
    await Promise.resolve();
    try {
      while (this.#again && !this.#closed) {
        this.#again = false;
        await withCode(() => answer(this.#context, (found) => this.#follow(found)));
        this.#failure = undefined;
        this.#wake();
      }
    } finally {
      this.#reading = undefined;
    }
  }

  async #follow({ head, damage }: CatchUp): Promise<void> {
    if (damage !== undefined) throw damage;
    this.#bytes = this.#context.log.head.bytes;
    const from = this.#latest?.last;
    if (from === undefined || head.seq - from > FAR) {
      this.#latest = this.#followers > 0 ? new LatestEvents(head.seq) : undefined;
      return;
    }
    for (let next = from + 1; next <= head.seq;) {
      const { events, bytes } = await eventPage(this.#context, next, head.seq);
      for (const event of events) this.#latest?.push(event, bytes / events.length);
      next += events.length;
    }
  }

  #page(from: number): Promise<readonly LogEventShape[]> {
    const going = this.#pages.get(from) ?? this.#readPage(from).finally(() => this.#pages.delete(from));
    this.#pages.set(from, going);
    return going;
  }

  async #readPage(from: number): Promise<readonly LogEventShape[]> {
    const page = await withCode(() => answer(this.#context, ({ head }) => eventPage(this.#context, from, head.seq)));
    return page.events;
  }

  #more(ended: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        ended.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      ended.addEventListener("abort", done);
    });
  }

  #fail(error: unknown): void {
    if (this.#followers === 0) return;
    this.#failure = { error };
    this.#wake();
  }

  #wake(): void {
    for (const done of [...this.#waiting]) done();
  }
}

/**
 * The maximum number of events that `LatestEvents` keeps, and the maximum number of bytes in their lines. The last
 * event is kept whatever its size.
 */
const MOST_EVENTS = 2_048;
const MOST_BYTES = 2 * 1024 * 1024;

/** The last events of a log, without a gap, for followers that are nearly up to date. */
class LatestEvents {
  readonly #events: { readonly event: LogEventShape; readonly bytes: number }[] = [];
  #bytes = 0;
  #last: number;

  /** `last`: the seq of the event before the first event to keep. */
  constructor(last: number) {
    this.#last = last;
  }

  get last(): number {
    return this.#last;
  }

  /**
   * Adds the next event. `bytes`: the length of its line. Ignores an event that was added before. Returns false if
   * events before this one are missing.
   */
  push(event: LogEventShape, bytes: number): boolean {
    if (event.seq <= this.#last) return true;
    if (event.seq !== this.#last + 1) return false;
    this.#events.push({ event, bytes });
    this.#bytes += bytes;
    this.#last = event.seq;
    this.#shed();
    return true;
  }

  /** Returns the events after `seq`; `undefined` if some of them were dropped. */
  after(seq: number): readonly LogEventShape[] | undefined {
    const kept = this.#events.length;
    const wanted = this.#last - seq;
    if (wanted <= 0) return [];
    return wanted > kept ? undefined : this.#events.slice(kept - wanted).map(({ event }) => event);
  }

  #shed(): void {
    let over = 0;
    while (over < this.#events.length - 1 && (this.#events.length - over > MOST_EVENTS || this.#bytes > MOST_BYTES)) {
      this.#bytes -= this.#events[over]?.bytes ?? 0;
      over += 1;
    }
    if (over > 0) this.#events.splice(0, over);
  }
}

/** The maximum number of events, and of bytes in their lines, that are read at once for a follower that is behind. */
const PAGE_EVENTS = 500;
const PAGE_BYTES = 1024 * 1024;

interface EventPage {
  readonly events: readonly LogEventShape[];
  readonly bytes: number;
}

/**
 * Returns the first events with `from <= seq <= to`, at least one. The index must have these events. Throws `PRUNED` if
 * the log no longer has event `from`. In this error, `data.after` is the event after which the caller can continue.
 */
async function eventPage(context: HistoryContext, from: number, to: number): Promise<EventPage> {
  const row = await context.index.locate(from);
  if (row === undefined || isInBase(row)) throw await notThere(context, from);
  const events: LogEventShape[] = [];
  let bytes = 0;
  for await (const lines of context.log.read({ seq: from, offset: row.offset })) {
    for (const line of lines) {
      const event = readEventFast(line.bytes);
      if (event.seq !== from + events.length) throw await notThere(context, from);
      events.push(eventShape(event));
      bytes += line.bytes.length;
      if (event.seq === to || events.length === PAGE_EVENTS || bytes >= PAGE_BYTES) return { events, bytes };
    }
  }
  throw await notThere(context, from);
}

async function notThere({ log }: HistoryContext, seq: number): Promise<ChronicleError> {
  const oldest = await oldestSeq(log);
  if (seq >= oldest) return new ChronicleError("INTEGRITY_VIOLATION", `the index is wrong about event ${seq}`);
  return eventPruned(seq, oldest);
}

function eventPruned(seq: number, oldest: number): ChronicleError {
  return new ChronicleError("PRUNED", `event ${seq} is no longer in the log: the history begins at event ${oldest}`, {
    hint: `continue after event ${oldest - 1}; the list of files has the state at that event`,
    data: { seq, after: oldest - 1 },
  });
}

export function eventShape(event: LogEvent): LogEventShape {
  return {
    seq: event.seq,
    ts: event.ts,
    record_id: event.recordId,
    op: event.op,
    hash: event.hash,
    prev_hash: event.prevHash,
    recursion_depth: event.recursionDepth,
    record: event.record,
  };
}

/**
 * Yields the events after event `after`: first those in the log, page by page, then new ones as they are recorded. If
 * `after` is missing, yields only events that are recorded after this call. A slow reader falls behind, and delays no
 * other reader.
 */
export function followEvents(feed: EventFeed, options: EventsOptions): AsyncIterable<LogEventShape> {
  const end = feed.end();
  const start = options.after === undefined ? end : end.then(() => options.after ?? 0);
  // If `start` fails, the iterator throws the error later. Until then, Node.js must not report the error as unhandled.
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

/**
 * Makes an iterator that can be ended while it waits for an event. A plain generator cannot be ended then, because its
 * `return` takes effect only at the next `yield`.
 */
export function endable<T>(
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
