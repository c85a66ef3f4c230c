import type { LogEventShape } from "../../api/shapes.ts";
import { ChronicleError, withCode } from "../../core/values/errors.ts";
import { answer } from "../log/answer.ts";
import type { CatchUp } from "../log/catch-up.ts";
import type { Context, Recorded } from "../log/context.ts";
import { eventPage } from "./event-page.ts";
import { eventShape } from "./event-shape.ts";
import { LatestEvents } from "./latest-events.ts";

/**
 * The interval at which the log is checked for events of other processes, in milliseconds; only while somebody follows.
 */
const LOOK_MS = 100;
/** A follower that is this many events behind reads them from the log itself. */
const FAR = 1_000;

/**
 * The events of a workspace for all who follow it in this process: each is read and parsed once. What this process records
 * comes by a signal, what others record is found by looking at the end of the log. Only what the index vouches for is
 * handed on: such events are never cut off again.
 */
export class EventFeed {
  readonly #context: Context;
  readonly #waiting = new Set<() => void>();
  /** Reads that are going on, by the seq at which they begin: those who are behind together read together. */
  readonly #pages = new Map<number, Promise<readonly LogEventShape[]>>();
  #latest: LatestEvents | undefined;
  #followers = 0;
  #timer: NodeJS.Timeout | undefined;
  #listening: Disposable | undefined;
  #reading: Promise<void> | undefined;
  #again = false;
  /** The length of the log when it was last read, in bytes. */
  #bytes = -1;
  #failure: { readonly error: unknown } | undefined;
  #closed = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Returns where the log ends at the time of this call. Throws `USAGE` once the workspace is closed. */
  async end(): Promise<number> {
    if (this.#closed) throw new ChronicleError("USAGE", "this workspace has been closed", { hint: "open it again" });
    return withCode(async () => (await this.#context.log.refresh()).seq);
  }

  /** Takes somebody in, until it is disposed of. */
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

  /** Resolves when `last` is known to be an event, or where the history ends. Throws `NOT_FOUND` for what is beyond. */
  async begin(last: number): Promise<void> {
    await this.#read();
    const known = this.#latest?.last ?? last;
    if (last <= known || this.#closed) return;
    throw new ChronicleError("NOT_FOUND", `there is no event ${last} yet: the last one is ${known}`, {
      hint: `go on after event ${known}`,
      data: { seq: last, after: known },
    });
  }

  /** The next events after `last`, at least one; waits for them. `undefined`: the workspace was closed, or `ended`. */
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

  /** Ends all who follow, and resolves when nothing is read any more. */
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

  /** Takes the events that this process has just recorded. */
  #take({ events }: Recorded): void {
    const latest = this.#latest;
    if (latest === undefined) return;
    const isNext = events.every((event) => latest.push(eventShape(event), event.line.length));
    if (isNext) this.#wake();
    else void this.#read().catch((error: unknown) => this.#fail(error));
  }

  async #look(): Promise<void> {
    if (this.#reading !== undefined || this.#latest === undefined) return;
    try {
      const { seq, bytes } = await this.#context.log.refresh();
      if (seq !== this.#latest?.last && bytes !== this.#bytes) await this.#read();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Reads what the log has beyond the latest; asked for meanwhile, once more. */
  #read(): Promise<void> {
    this.#again = true;
    this.#reading ??= this.#readOn();
    return this.#reading;
  }

  /** Reading ends in the same step in which no further request was found, so that no request is missed. */
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
