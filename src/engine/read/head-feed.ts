import type { EventsOptions } from "../../api/file-api.ts";
import type { HeadChangeShape, LogEventShape } from "../../api/shapes.ts";
import type { TicksShape } from "../../api/tick-api.ts";
import { endable, type EventFeed, followEvents } from "./event-feed.ts";

/**
 * The time, in milliseconds, for which new events are gathered before followers are notified. The events of one
 * operation usually arrive within this time, and so form one notification.
 */
const TOGETHER_MS = 10;
/**
 * The interval between two notifications is `EACH_MS` milliseconds for each follower, but at least `LEAST_MS` and at
 * most `MOST_MS`. A single follower is notified ten times a second, and twenty followers once a second. The requests
 * that the followers then send thus cost about the same in both cases.
 */
const EACH_MS = 50;
const LEAST_MS = 100;
const MOST_MS = 1_000;

/** The maximum number of changes of which a slow follower gets the ticks. */
const MOST_PIECES = 10;

/** Returns the ticks after an event; `undefined` if there are too many ticks, or if they cannot be read at present. */
export type TicksAfter = (seq: number) => Promise<TicksShape | undefined>;

/**
 * Notifies followers of new events, with the kinds of the changed records. Unlike `EventFeed`, this class sends the
 * same notification to all followers at the same time, and combines events that follow each other quickly.
 */
export class HeadFeed {
  readonly #feed: EventFeed;
  readonly #seats = new Set<Seat>();
  #following: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #told = Number.NEGATIVE_INFINITY;
  #gathered = new Set<string>();
  #seq = 0;
  /** The seq of the last event before the next notification's events; `undefined` until the first new event. */
  #toldSeq: number | undefined;
  #isTelling = false;
  readonly #ticksAfter: TicksAfter;

  constructor(feed: EventFeed, ticksAfter: TicksAfter) {
    this.#feed = feed;
    this.#ticksAfter = ticksAfter;
  }

  /** Adds a follower until the result is disposed. */
  join(): Seat & Disposable {
    const seat = new Seat();
    this.#seats.add(seat);
    if (this.#following === undefined) {
      this.#following = new AbortController();
      void this.#follow(this.#following.signal);
    }
    return Object.assign(seat, { [Symbol.dispose]: () => this.#leave(seat) });
  }

  /** Returns the seq of the last event of the log. */
  end(): Promise<number> {
    return this.#feed.end();
  }

  #leave(seat: Seat): void {
    this.#seats.delete(seat);
    if (this.#seats.size === 0) this.#stop();
  }

  /** Stops following the log, and forgets the gathered events. The next follower starts anew. */
  #stop(): void {
    this.#following?.abort();
    this.#following = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#gathered = new Set();
    this.#toldSeq = undefined;
  }

  async #follow(signal: AbortSignal): Promise<void> {
    let end: { readonly error?: unknown } = {};
    try {
      for await (const event of followEvents(this.#feed, { signal })) this.#note(event);
    } catch (error) {
      end = { error };
    }
    // If the signal is aborted, all followers have left. A follower that joined since then has started a loop of its
    // own.
    if (signal.aborted) return;
    // The workspace was closed, or its log cannot be read. All seats are removed, so that the next follower starts a
    // loop of its own.
    for (const seat of this.#seats) seat.end(end);
    this.#seats.clear();
    this.#stop();
  }

  #note({ seq, record_id: id, record }: LogEventShape): void {
    this.#toldSeq ??= seq - 1;
    // An operation that has only begun has changed nothing yet, and its end follows soon.
    if (isBegun(id, record)) return;
    this.#seq = seq;
    this.#gathered.add(kindOf(id, record));
    if (this.#timer === undefined && !this.#isTelling) this.#begin();
  }

  #begin(): void {
    const rest = Math.min(MOST_MS, Math.max(LEAST_MS, this.#seats.size * EACH_MS));
    const wait = Math.max(TOGETHER_MS, this.#told + rest - performance.now());
    this.#timer = setTimeout(() => void this.#tell(), wait);
  }

  async #tell(): Promise<void> {
    this.#timer = undefined;
    this.#told = performance.now();
    const [seq, records, after = seq] = [this.#seq, [...this.#gathered], this.#toldSeq];
    this.#gathered = new Set();
    this.#toldSeq = seq;
    this.#isTelling = true;
    const following = this.#following;
    // After a compaction, no ticks are sent, and followers read them again. The compaction can drop the first events of
    // work, by which followers recognise the ticks of the work.
    const ticks = records.includes("compact") ? undefined : await this.#ticksAfter(after);
    this.#isTelling = false;
    if (this.#following === following)
      this.#tellAll({ seq, after, records, ticks: ticks === undefined ? null : [ticks] });
    if (this.#gathered.size > 0) this.#begin();
  }

  #tellAll(change: HeadChangeShape): void {
    // All followers get the same object, so that it is encoded only once.
    for (const seat of this.#seats) seat.take(change);
  }
}

/** One follower, with the changes that it has not received yet. */
class Seat {
  #next: HeadChangeShape | undefined;
  #end: { readonly error?: unknown } | undefined;
  #wake: () => void = () => undefined;

  /** Keeps a change until it is asked for. A slow follower gets several changes as one. */
  take(change: HeadChangeShape): void {
    this.#next = this.#next === undefined ? change : joined(this.#next, change);
    this.#wake();
  }

  end(end: { readonly error?: unknown }): void {
    this.#end = end;
    this.#wake();
  }

  /** Waits for the next change. Returns `undefined` once the workspace is closed, or `ended` aborts. */
  async next(ended: AbortSignal): Promise<HeadChangeShape | undefined> {
    while (!ended.aborted) {
      const change = this.#next;
      this.#next = undefined;
      if (change !== undefined) return change;
      if (this.#end?.error !== undefined) throw this.#end.error;
      if (this.#end !== undefined) return undefined;
      await this.#moved(ended);
    }
    return undefined;
  }

  #moved(ended: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        ended.removeEventListener("abort", this.#wake);
        resolve();
      };
      ended.addEventListener("abort", this.#wake);
    });
  }
}

function joined(before: HeadChangeShape, now: HeadChangeShape): HeadChangeShape {
  const records = [...new Set([...(before.records ?? []), ...(now.records ?? [])])];
  const ticks = before.ticks === null || now.ticks === null ? null : [...before.ticks, ...now.ticks];
  // With `null`, a follower that fell far behind reads all ticks with one request.
  const isMany = ticks !== null && ticks.length > MOST_PIECES;
  return { seq: now.seq, after: before.after, records, ticks: isMany ? null : ticks };
}

function isBegun(id: string, record: unknown): boolean {
  return id.startsWith("intent:") && fieldOf(record, "state") === "open";
}

function fieldOf(record: unknown, name: string): unknown {
  return typeof record === "object" && record !== null
    ? (record as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

/** Returns the kind of a record, such as `file` or `action`, and for an operation its own kind: `intent:undo`. */
function kindOf(id: string, record: unknown): string {
  const kind = /^[a-z]+/.exec(id)?.[0] ?? "";
  if (kind !== "intent") return kind;
  const own = fieldOf(record, "kind");
  return typeof own === "string" ? `intent:${own}` : kind;
}

/** Yields the present head at once, and then each change of the head. */
export function followHead(heads: HeadFeed, options: Pick<EventsOptions, "signal">): AsyncIterable<HeadChangeShape> {
  return { [Symbol.asyncIterator]: () => endable((ended) => follow(heads, ended), options) };
}

async function* follow(heads: HeadFeed, ended: AbortSignal): AsyncGenerator<HeadChangeShape, undefined> {
  using seat = heads.join();
  const seq = await heads.end();
  yield { seq, after: seq, records: null, ticks: null };
  for (;;) {
    const change = await seat.next(ended);
    if (change === undefined) return;
    yield change;
  }
}
