import type { SyncEventShape, SyncShape } from "../../api/sync-api.ts";
import { Signal } from "../../util/signal.ts";
import type { SyncHappening } from "./sync-happening.ts";

/** What is told, and of which sync. */
type News = { readonly id: string; readonly sync: SyncShape; readonly what: SyncHappening };

/** Who follows what. */
export interface FollowOptions {
  /** Default: all. */
  readonly only: ((sync: SyncShape) => boolean) | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Tells whoever follows what happens to syncs. One that takes its news slowly gets less of them, but never an old state last. */
export class SyncNews {
  readonly #signal = new Signal<News>();
  readonly #ending = new AbortController();
  readonly #now: () => number;
  /** How each sync was told to be last. */
  readonly #told = new Map<string, string>();
  #seq = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  tell(id: string, what: SyncHappening, shape: () => SyncShape): void {
    const sync = shape();
    if (what.kind === "state") {
      const state = JSON.stringify(sync);
      if (this.#told.get(id) === state) return;
      this.#told.set(id, state);
    }
    this.#signal.emit({ id, sync, what });
  }

  /** Nothing happens any more: all who follow come to their end. */
  end(): void {
    this.#ending.abort();
  }

  /** First the states of those that there are, then what happens from now on. */
  async *follow(
    begin: () => Promise<readonly SyncShape[]>,
    { only, signal }: FollowOptions,
  ): AsyncGenerator<SyncEventShape, void> {
    const queue: News[] = [];
    let wake: (() => void) | undefined;
    using _listening = this.#signal.listen((news) => {
      if (only !== undefined && !only(news.sync)) return;
      add(queue, news);
      wake?.();
    });
    const ends = AbortSignal.any([this.#ending.signal, ...(signal === undefined ? [] : [signal])]);
    const onEnd = (): void => wake?.();
    ends.addEventListener("abort", onEnd, { once: true });
    try {
      for (const sync of await begin()) yield this.#shape({ id: sync.id, sync, what: { kind: "state" } });
      while (!ends.aborted) {
        const next = queue.shift();
        if (next !== undefined) yield this.#shape(next);
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      ends.removeEventListener("abort", onEnd);
    }
  }

  #shape({ id, sync, what }: News): SyncEventShape {
    const head = { seq: (this.#seq += 1), id, timestamp: new Date(this.#now()).toISOString() };
    return what.kind === "state" ? { ...head, kind: "state", sync } : { ...head, ...what };
  }
}

/** What was not taken yet of the same kind becomes one with it. */
function add(queue: News[], news: News): void {
  const at = queue.findIndex(({ id, what }) => id === news.id && what.kind === news.what.kind);
  const earlier = queue[at]?.what;
  const joined = earlier === undefined ? undefined : join(earlier, news.what);
  if (joined === undefined) queue.push(news);
  else {
    queue.splice(at, 1);
    queue.push({ ...news, what: joined });
  }
}

function join(a: SyncHappening, b: SyncHappening): SyncHappening | undefined {
  if (a.kind === "state" && b.kind === "state") return b;
  if (a.kind === "applied" && b.kind === "applied") return { ...b, from: a.from, paths: a.paths + b.paths };
  if (a.kind === "pushed" && b.kind === "pushed")
    return { ...b, accepted: a.accepted + b.accepted, rejected: a.rejected + b.rejected };
  return undefined;
}
