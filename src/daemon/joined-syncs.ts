import type { ConflictShape } from "../api/conflict-shape.ts";
import type {
  SyncDecision,
  SyncApi,
  SyncEventShape,
  SyncResolution,
  SyncResolvedShape,
  SyncRunner,
  SyncShape,
  SyncStart,
} from "../api/sync-api.ts";
import { ChronicleError } from "../core/values/errors.ts";

/** A process that runs a sync and is not the store's process, such as `chronicle replicate`. */
export interface OtherProcess extends AsyncDisposable {
  readonly syncs: SyncApi;
  /** The process id; 0 if the process does not report it. */
  readonly pid: number;
}

/** Resolves to the other process that runs the sync with this id; `undefined` if no such process answers. */
export type FindOther = (id: string) => Promise<OtherProcess | undefined>;

/**
 * The maximum number of events that are buffered for a slow reader. Beyond this number, the oldest events are dropped.
 * The reader still learns the present state from a later state event.
 */
const MOST_WAITING = 1_000;

/**
 * All syncs of a store: the syncs of this process, and the syncs that other processes run in the foreground. Calls
 * about a sync of another process are passed to that process, so that clients of the store's process need not know
 * which process runs a sync.
 */
export class JoinedSyncs implements SyncRunner {
  readonly #own: SyncRunner;
  readonly #find: FindOther;

  constructor(own: SyncRunner, find: FindOther) {
    this.#own = own;
    this.#find = find;
  }

  get active(): number {
    return this.#own.active;
  }

  takeUp(): Promise<void> {
    return this.#own.takeUp();
  }

  close(): Promise<void> {
    return this.#own.close();
  }

  /** Starts a sync. Throws `LOCKED` if another process runs the sync of this folder. */
  async start(options: SyncStart): Promise<SyncShape> {
    try {
      return await this.#own.start(options);
    } catch (error) {
      if (!(error instanceof ChronicleError) || error.code !== "LOCKED") throw error;
      throw (await this.#runElsewhere(options.folder, error)) ?? error;
    }
  }

  async list(): Promise<SyncShape[]> {
    const all = await this.#own.list();
    return Promise.all(all.map((one) => this.#asItIs(one)));
  }

  async status(id: string): Promise<SyncShape> {
    return this.#asItIs(await this.#own.status(id));
  }

  stop(asked: string): Promise<SyncShape> {
    return this.#where(asked, (syncs, id) => syncs.stop(id));
  }

  pause(asked: string): Promise<SyncShape> {
    return this.#where(asked, (syncs, id) => syncs.pause(id));
  }

  resume(asked: string, options?: { readonly accept?: SyncDecision }): Promise<SyncShape> {
    return this.#where(asked, (syncs, id) => syncs.resume(id, options));
  }

  flush(asked: string, options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<SyncShape> {
    return this.#where(asked, (syncs, id) => syncs.flush(id, options));
  }

  conflicts(asked: string): Promise<ConflictShape[]> {
    return this.#where(asked, (syncs, id) => syncs.conflicts(id));
  }

  resolve(asked: string, path: string, resolution: SyncResolution): Promise<SyncResolvedShape> {
    return this.#where(asked, (syncs, id) => syncs.resolve(id, path, resolution));
  }

  /**
   * Yields the events of syncs. If another process runs a sync at the time of the call, the events of that sync are
   * read from that process. Once that process has ended, the events are read from this process.
   */
  async *events(asked?: string, signal?: AbortSignal): AsyncGenerator<SyncEventShape, void> {
    const shapes = asked === undefined ? await this.#own.list() : [await this.#own.status(asked)];
    await using others = new AsyncDisposableStack();
    const found = new Map<string, SyncApi>();
    for (const { id } of shapes) {
      const other = await this.#find(id);
      if (other !== undefined) found.set(id, others.use(other).syncs);
    }
    const ended = new AbortController();
    const signals = AbortSignal.any([ended.signal, ...(signal === undefined ? [] : [signal])]);
    const only = asked === undefined ? undefined : shapes[0]?.id;
    const feed = new JoinedFeed(signals);
    feed.take(this.#own.events(only, signals), { isLast: true, except: (id) => found.has(id) });
    for (const [id, syncs] of found) feed.take(this.#eventsOf(id, syncs, { found, signal: signals }));
    try {
      yield* feed.follow();
    } finally {
      ended.abort();
      await feed.settled();
    }
  }

  /**
   * Yields the events of a sync that another process runs. When that process has ended, yields the present state of the
   * sync.
   */
  async *#eventsOf(
    id: string,
    syncs: SyncApi,
    { found, signal }: { readonly found: Map<string, SyncApi>; readonly signal: AbortSignal },
  ): AsyncGenerator<SyncEventShape, void> {
    try {
      yield* syncs.events(id, signal);
    } catch (error) {
      if (!isGone(error)) throw error;
    }
    if (signal.aborted) return;
    found.delete(id);
    const sync = await this.#own.status(id);
    yield { kind: "state", id, sync, seq: 0, timestamp: new Date().toISOString() };
  }

  async #asItIs(shape: SyncShape): Promise<SyncShape> {
    await using other = await this.#find(shape.id);
    if (other === undefined) return shape.elsewhere === true ? silent(shape) : shape;
    try {
      return await other.syncs.status(shape.id);
    } catch (error) {
      // The other process has ended since it was found.
      if (isGone(error)) return shape;
      throw error;
    }
  }

  async #where<T>(asked: string, work: (syncs: SyncApi, id: string) => Promise<T>): Promise<T> {
    const { id } = await this.#own.status(asked);
    await using other = await this.#find(id);
    return await work(other?.syncs ?? this.#own, id);
  }

  async #runElsewhere(folder: string, cause: ChronicleError): Promise<ChronicleError | undefined> {
    const shape = (await this.#own.list()).find((one) => one.folder === folder);
    await using other = shape === undefined ? undefined : await this.#find(shape.id);
    if (other === undefined) return undefined;
    return new ChronicleError("LOCKED", `process ${other.pid} runs the sync of this folder already`, {
      hint: "to start the sync again, end it first: Ctrl-C in its terminal, or `chronicle sync stop`",
      data: { pid: other.pid, lasting: true },
      cause,
    });
  }
}

function silent(shape: SyncShape): SyncShape {
  const alone = { ...shape };
  delete alone.elsewhere;
  return {
    ...alone,
    reason: "the process that ran this sync does not answer",
    hint: "if that process has ended, the store's process continues the sync within seconds",
  };
}

function isGone(error: unknown): boolean {
  return error instanceof ChronicleError && (error.code === "UNAVAILABLE" || error.code === "NOT_FOUND");
}

/** Merges several streams of events into one stream, and numbers the events anew, from 1. */
class JoinedFeed {
  readonly #ended: AbortSignal;
  readonly #waiting: SyncEventShape[] = [];
  readonly #taking: Promise<void>[] = [];
  #failure: { readonly error: unknown } | undefined;
  #isOver = false;
  #wake: (() => void) | undefined;

  constructor(ended: AbortSignal) {
    this.#ended = ended;
  }

  /**
   * `isLast`: the feed ends when this stream ends. `except`: the state events of the syncs for which this function
   * returns true are left out.
   */
  take(
    events: AsyncIterable<SyncEventShape>,
    { isLast = false, except }: { readonly isLast?: boolean; readonly except?: (id: string) => boolean } = {},
  ): void {
    const taking = async (): Promise<void> => {
      try {
        for await (const event of events) {
          if (event.kind === "state" && except?.(event.id) === true) continue;
          if (this.#waiting.length >= MOST_WAITING) this.#waiting.shift();
          this.#waiting.push(event);
          this.#wake?.();
        }
        this.#isOver ||= isLast;
      } catch (error) {
        if (!this.#ended.aborted) this.#failure ??= { error };
      }
      this.#wake?.();
    };
    this.#taking.push(taking());
  }

  /**
   * Yields the events of all streams. Ends when the stream with `isLast` ends, or when the feed's signal aborts. Throws
   * the error of any stream.
   */
  async *follow(): AsyncGenerator<SyncEventShape, void> {
    for (let seq = 1; ;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield { ...next, seq: seq++ };
      else if (this.#failure !== undefined) throw this.#failure.error;
      else if (this.#isOver || this.#ended.aborted) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Resolves once all streams have ended. To end them, abort the signal of the feed. */
  async settled(): Promise<void> {
    await Promise.all(this.#taking);
  }
}
