import type { EventsOptions } from "../../api/file-api.ts";
import type { HeadChangeShape, LogEventShape } from "../../api/shapes.ts";
import type { TicksShape } from "../../api/tick-api.ts";
import { endable, type EventFeed, followEvents } from "./event-feed.ts";

/** The events of one operation arrive within this time, and are told together, in milliseconds. */
const TOGETHER_MS = 10;
/**
 * The time between two changes for each follower, and its bounds, in milliseconds. What all followers of a workspace ask
 * for costs the same, however many they are: a single one is told ten times a second, twenty of them once a second.
 */
const EACH_MS = 50;
const LEAST_MS = 100;
const MOST_MS = 1_000;

/** A slow follower gets the ticks of at most this number of changes. */
const MOST_PIECES = 10;

/** Returns the ticks after an event; `undefined` if they are too many, or cannot be read at present. */
export type TicksAfter = (seq: number) => Promise<TicksShape | undefined>;

/**
 * Tells followers that the history has grown, and which kinds of records it has grown by. Unlike `EventFeed`, it tells
 * all followers the same at the same time, and gathers what is recorded in quick succession.
 */
export class HeadFeed {
  readonly #feed: EventFeed;
  readonly #seats = new Set<Seat>();
  #following: AbortController | undefined;
  #timer: NodeJS.Timeout | undefined;
  #told = Number.NEGATIVE_INFINITY;
  #gathered = new Set<string>();
  #seq = 0;
  /** The last event of the change that was told last; `undefined` before the first one. */
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

  /** Forgets what was gathered for the followers. The next one begins anew. */
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
    // All followers have left. One that joined since has a loop of its own.
    if (signal.aborted) return;
    // The workspace was closed, or its log cannot be read. A follower that still has its seat must not keep the next
    // one from a loop of its own.
    for (const seat of this.#seats) seat.end(end);
    this.#seats.clear();
    this.#stop();
  }

  #note({ seq, record_id: id, record }: LogEventShape): void {
    // An operation that has only begun has changed nothing yet, and its end follows soon.
    this.#toldSeq ??= seq - 1;
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
    // A compaction can drop the first events of work, by which a follower knows its ticks.
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

/** One follower, with what it has not been told yet. */
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
  // A reader that was away for long reads the ticks at once.
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

/** Yields the head at once, and then each change of it. */
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
