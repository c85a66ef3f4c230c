import type { SyncEventShape } from "../../../api/sync-api.ts";
import { Signal } from "../../../util/signal.ts";

/** An event without what the feed adds to it. */
export type SyncNews = SyncEventShape extends infer One
  ? One extends { readonly seq: number }
    ? Omit<One, "seq" | "timestamp">
    : never
  : never;

/**
 * The number of events that wait for a slow listener. Beyond it, the oldest are dropped, and later states tell how
 * things stand.
 */
const MOST_WAITING = 1_000;

/** The events of all syncs, for listeners. */
export class SyncFeed {
  readonly #news = new Signal<SyncEventShape>();
  readonly #now: () => number;
  #seq = 0;

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  tell(news: SyncNews): void {
    this.#news.emit(this.#shaped(news));
  }

  /** Yields first `states`, then the events of one sync, or of all, until one of `signals` aborts. */
  async *follow(
    states: readonly SyncNews[],
    { id, signals }: { readonly id: string | undefined; readonly signals: readonly AbortSignal[] },
  ): AsyncGenerator<SyncEventShape, void> {
    const waiting: SyncEventShape[] = states.map((one) => this.#shaped(one));
    let wake: (() => void) | undefined;
    using _listening = this.#news.listen((event) => {
      if (id !== undefined && event.id !== id) return;
      if (waiting.length >= MOST_WAITING) waiting.shift();
      waiting.push(event);
      wake?.();
    });
    const ended = AbortSignal.any([...signals]);
    const end = (): void => wake?.();
    ended.addEventListener("abort", end);
    try {
      for (;;) {
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
          yield next;
          if (ended.aborted) return;
        }
        if (ended.aborted) return;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      ended.removeEventListener("abort", end);
    }
  }

  #shaped(news: SyncNews): SyncEventShape {
    this.#seq += 1;
    return { ...news, seq: this.#seq, timestamp: new Date(this.#now()).toISOString() };
  }
}
