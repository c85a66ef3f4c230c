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

/** A process that runs a sync by itself, such as `chronicle replicate`. */
export interface OtherProcess extends AsyncDisposable {
  readonly syncs: SyncApi;
  /** Its process id; 0 if it does not say. */
  readonly pid: number;
}

/** Finds the process that runs this sync beside the store's process; `undefined` if none answers. */
export type FindOther = (id: string) => Promise<OtherProcess | undefined>;

/**
 * The most events buffered for a slow reader. Beyond that, the oldest are dropped: a later state event has the present
 * state.
 */
const MOST_WAITING = 1_000;

/**
 * The syncs of a store, whichever process runs them: those of this process, and those that other processes run in the
 * foreground, which are asked about theirs. Clients of the store's process therefore need not know which process runs a
 * sync.
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

  /** Starts a sync. Throws `LOCKED` if another process runs it. */
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
   * Yields the events of syncs. If another process runs a sync at the start, its events come from there, and from here
   * once that process has ended.
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

  /** Yields the events of a sync that another process runs, then its state once that process has ended. */
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
      // The other process has just ended.
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
      hint: "to start it again, end it first: Ctrl-C where it runs, or `chronicle sync stop`",
      data: { pid: other.pid, lasting: true },
      cause,
    });
  }
}

/** Returns the sync as shown if no process answers for it: the process that ran it is gone, or cannot be asked. */
function silent(shape: SyncShape): SyncShape {
  const alone = { ...shape };
  delete alone.elsewhere;
  return {
    ...alone,
    reason: "the process that ran it does not answer",
    hint: "if it has ended, this process continues the sync within seconds",
  };
}

function isGone(error: unknown): boolean {
  return error instanceof ChronicleError && (error.code === "UNAVAILABLE" || error.code === "NOT_FOUND");
}

/** Merges several streams of events into one, with its own numbering. */
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
   * Reads a stream into the feed. `isLast`: the feed ends with this stream. `except`: states of these syncs are left
   * out.
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

  /** Yields events until the last source ends, or the feed is ended. Throws the error of any source. */
  async *follow(): AsyncGenerator<SyncEventShape, void> {
    for (let seq = 1; ;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield { ...next, seq: seq++ };
      else if (this.#failure !== undefined) throw this.#failure.error;
      else if (this.#isOver || this.#ended.aborted) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  /** Resolves once no stream is read any more; they end with the signal. */
  async settled(): Promise<void> {
    await Promise.all(this.#taking);
  }
}
