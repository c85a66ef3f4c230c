import type {
  SyncEventShape,
  SyncDecision,
  SyncResolution,
  SyncResolvedShape,
  SyncRunner,
  SyncShape,
  SyncStart,
} from "../../../api/sync-api.ts";
import { Signal } from "../../../util/signal.ts";
import { catchUp } from "../../../engine/log/catch-up.ts";
import type { Context } from "../../../engine/log/context.ts";
import { ReplicatedPaths } from "../ground/replicated-paths.ts";
import type { ConflictShape } from "../../../api/conflict-shape.ts";
import { ChronicleError, codedError, withCode } from "../../../core/values/errors.ts";
import type { ReplicaRecord } from "../../../core/records/replica-record.ts";
import { meantBy } from "../../../core/values/meant-by.ts";
import { keepAlive, NODE_TIMERS, type Timers } from "../../../util/timers.ts";
import { protectedFiles } from "../../../engine/state/protected.ts";
import { shownPath } from "../../../engine/log/shape.ts";
import {
  askOrigin,
  checkStart,
  ELSEWHERE,
  judgeAnswer,
  type OriginAnswer,
  recordFor,
  restingShape,
  type RestReason,
} from "./sync-settings.ts";
import { FolderSync } from "./folder-sync.ts";
import { SharedNames } from "../paths/shared-names.ts";
import type { BeginOptions, OpenSyncPlace, SyncPlaces } from "./sync-places.ts";
import { optional } from "../../../util/optional.ts";

export interface SyncControllerOptions {
  readonly places: SyncPlaces;
  /** Returns the present time, in epoch milliseconds. */
  readonly now: () => number;
  /** Returns a random number from 0 to 1. */
  readonly random: () => number;
  readonly timers?: Timers;
  /** Throws `FORBIDDEN` if the caller has no right to secrets. Default: every caller has the right. */
  readonly refuseSecrets?: () => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/**
 * The time, in ms, after which the controller tries again to run a sync that another process was running, or that could
 * not be opened.
 */
const AGAIN_MS = 10_000;

/** The reason that is reported for a sync that this process has yet to continue. */
const BEGINS: RestReason = { reason: "this process continues it in a moment" };

function leftBecause(error: unknown): RestReason {
  const known = codedError(error);
  const message = known instanceof Error ? known.message : String(known);
  const { hint } = known instanceof ChronicleError ? known : {};
  return { reason: `it could not be continued, and is tried again: ${message}`, ...optional({ hint }) };
}

interface Running {
  readonly place: OpenSyncPlace;
  readonly sync: FolderSync;
  readonly listening: Disposable;
  /** Keeps the process alive, even while there is no connection. */
  readonly alive: Disposable;
}

/**
 * Returns a handler that ignores the error of a halt, because the state of the sync reports the halt. The handler
 * throws all other errors again.
 */
function unlessHalted({ record }: FolderSync): (error: unknown) => void {
  return (error) => {
    if (!(error instanceof ChronicleError && error.code === "REFUSED" && record.halted !== undefined)) throw error;
  };
}

/**
 * Runs the syncs of a store independently of each other. Each request is recorded in the sync's log before the request
 * is answered, so that another process can continue the sync later.
 */
export class SyncController implements SyncRunner {
  readonly #options: SyncControllerOptions;
  readonly #timers: Timers;
  readonly #feed: SyncFeed;
  readonly #running = new Map<string, Running>();
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #closing = new AbortController();
  #again: Disposable | undefined;
  /**
   * Maps the id of each sync that this process must continue, but does not run yet, to the reason. Syncs that another
   * process is known to run are not included.
   */
  readonly #waiting = new Map<string, RestReason>();
  /** True if this process continues a sync once another process that ran the sync has ended. */
  #takesUp = false;

  constructor(options: SyncControllerOptions) {
    this.#options = options;
    this.#timers = options.timers ?? NODE_TIMERS;
    this.#feed = new SyncFeed(options.now);
  }

  get active(): number {
    return [...this.#running.values()].filter(({ sync }) => sync.record.stopped !== true).length;
  }

  async takeUp(): Promise<void> {
    this.#takesUp = true;
    const places = await this.#options.places.list();
    const left = places.filter(({ record }) => record !== undefined && record.stopped !== true);
    for (const { id } of left) if (!this.#waiting.has(id) && !this.#running.has(id)) this.#waiting.set(id, BEGINS);
    let isLeft = false;
    for (const { id } of left) {
      if (this.#closing.signal.aborted) return;
      try {
        await this.#inTurn(id, () => this.#takeUp(id));
      } catch (error) {
        if (this.#closing.signal.aborted) return;
        isLeft = true;
        this.#noteLeft(id, error);
      }
    }
    if (isLeft) this.#lookAgain();
  }

  /**
   * Notes why a sync could not be continued. A failure that occurs again with the same reason is not reported again.
   */
  #noteLeft(id: string, error: unknown): void {
    const known = this.#waiting.get(id);
    if (error instanceof ChronicleError && error.code === "LOCKED") {
      this.#waiting.delete(id);
      return;
    }
    const why = leftBecause(error);
    this.#waiting.set(id, why);
    if (why.reason !== known?.reason) this.#options.onError(error);
  }

  async start(options: SyncStart): Promise<SyncShape> {
    this.#refuseClosed();
    checkStart(options);
    if (options.withProtected === true) await withCode(async () => this.#options.refuseSecrets?.());
    const answer = await this.#askFirst(options);
    const id = await withCode(() => this.#options.places.begin(options.folder, beginOptions(options, answer)));
    return this.#inTurn(id, async () => {
      const known = this.#running.get(id);
      // Check the request before the running sync is closed. `recordFor` throws for an invalid request.
      if (known !== undefined) recordFor(known.sync.record, options, id);
      await this.#letGo(id);
      if (options.token !== undefined) this.#options.places.keepToken(id, options.token);
      const { sync, place } = await this.#run(id, (record) => ({ ...recordFor(record, options, id), paused: true }));
      const rules = new ReplicatedPaths(sync.record);
      await new SharedNames(place.parts, rules).refresh();
      const joined = place.record === undefined ? await countFiles(place.parts.context, rules) : 0;
      await sync.resume().catch(unlessHalted(sync));
      const secrets = await secretsHere(place.parts.context, sync.record);
      return { ...sync.shape, ...(joined === 0 ? {} : { joined }), ...secrets };
    });
  }

  /** Asks the origin before anything is created or changed. A start that the origin refuses then has no effect. */
  async #askFirst(start: SyncStart): Promise<OriginAnswer> {
    const { places } = this.#options;
    const place = await withCode(() => places.find(start.folder));
    const id = place?.id;
    const known = (id === undefined ? undefined : this.#running.get(id)?.sync.record) ?? place?.record;
    const { url, workspace, withProtected } = recordFor(known, start, "");
    const token = start.token ?? (id === undefined ? undefined : places.tokenOf(id));
    const asked = { url, token, ...optional({ workspace }) };
    const answer = await askOrigin({
      connect: (signal) => places.dial(asked, signal),
      ...{ workspace, token, withProtected, timers: this.#timers, signal: this.#closing.signal },
    });
    judgeAnswer(known, start, answer);
    this.#refuseClosed();
    return answer;
  }

  async list(): Promise<SyncShape[]> {
    const places = await this.#options.places.list();
    const shapes = places.map(
      (place) =>
        this.#running.get(place.id)?.sync.shape ?? restingShape(place, this.#waiting.get(place.id) ?? ELSEWHERE),
    );
    // Another process may have run a sync and ended. This process must then continue the sync.
    if (this.#takesUp && shapes.some((shape) => shape?.elsewhere === true)) this.#lookAgain();
    const listed = new Set(places.map(({ id }) => id));
    // `places` does not list a new sync whose log is still empty.
    const young = [...this.#running].filter(([id]) => !listed.has(id)).map(([, { sync }]) => sync.shape);
    return [...shapes.filter((shape) => shape !== undefined), ...young];
  }

  async status(id: string): Promise<SyncShape> {
    const all = await this.list();
    const exact = all.filter((one) => one.id === id || one.folder === id);
    const found = exact.length > 0 ? exact : await this.#meantBy(all, id);
    const [only, second] = found;
    if (only === undefined) {
      throw new ChronicleError("NOT_FOUND", `there is no sync ${id}`, { hint: "`chronicle sync status` lists them" });
    }
    if (second === undefined) return only;
    throw new ChronicleError("AMBIGUOUS", `${found.length} syncs begin with ${id}`, {
      hint: "give more of the id, or the folder",
      data: { ids: found.map((one) => one.id) },
    });
  }

  /**
   * Finds the syncs that an id prefix or a folder names. A folder is looked up through `places`, because the recorded
   * path of a folder has its symbolic links resolved.
   */
  async #meantBy(all: readonly SyncShape[], id: string): Promise<readonly SyncShape[]> {
    if (!id.startsWith("/")) return meantBy(all, id, (one) => one.id);
    const place = await withCode(() => this.#options.places.find(id));
    return all.filter((one) => one.id === place?.id);
  }

  stop(id: string): Promise<SyncShape> {
    return this.#with(id, async ({ sync, place }) => {
      await sync.stop();
      const { shape } = sync;
      await this.#letGo(place.id);
      this.#options.places.keepToken(place.id, undefined);
      return shape;
    });
  }

  pause(id: string): Promise<SyncShape> {
    return this.#with(id, async ({ sync }) => {
      await sync.pause();
      return sync.shape;
    });
  }

  resume(id: string, { accept }: { readonly accept?: SyncDecision } = {}): Promise<SyncShape> {
    return this.#with(id, async ({ sync, place }) => {
      if (accept === "as-new" || accept === "rejoin") return this.#beginAnew(place, sync, accept);
      await sync.resume(accept === undefined ? {} : { accept });
      return sync.shape;
    });
  }

  /**
   * Continues the sync as a new replica, which the origin does not know yet. The mirror keeps the events that the
   * origin still has.
   */
  async #beginAnew({ id, parts }: OpenSyncPlace, old: FolderSync, how: "as-new" | "rejoin"): Promise<SyncShape> {
    const newId = parts.context.newId();
    await (how === "as-new" ? old.becomeNew(newId) : old.rejoin(newId));
    await this.#letGo(id);
    const { sync } = await this.#run(id, (record) => record);
    await sync.resume();
    return sync.shape;
  }

  /** Flushes a sync. The wait is outside of `#inTurn`, so other requests about the sync are not delayed. */
  async flush(
    id: string,
    options: { readonly timeoutMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<SyncShape> {
    const sync = await this.#with(id, async (running) => running.sync);
    return withCode(() => sync.flush(options));
  }

  /** Returns the conflicts of a sync, even if another process runs it. */
  async conflicts(id: string): Promise<ConflictShape[]> {
    const { id: found } = await this.status(id);
    const running = this.#running.get(found);
    if (running !== undefined) return running.place.conflicts();
    const places = await this.#options.places.list();
    return [...(places.find((place) => place.id === found)?.conflicts ?? [])];
  }

  resolve(id: string, path: string, { keep, ...more }: SyncResolution): Promise<SyncResolvedShape> {
    return this.#with(id, async ({ sync, place }) => {
      const all = await sync.conflicts();
      const found = all.find((one) => shownPath(one.record.path) === path) ?? all.find((one) => one.id === path);
      if (found === undefined) {
        throw new ChronicleError("NOT_FOUND", `no conflict of ${path} is open`, {
          hint: "`chronicle sync conflicts` lists them",
          data: { path },
        });
      }
      const { record } = await sync.resolve(found.record.path, { keep, ...more });
      const left = await sync.conflicts();
      const open = record.state === "open" ? { still_open: record.sync?.detail ?? record.reason } : {};
      return { id: place.id, path: shownPath(record.path), kept: keep, conflicts: left.length, ...open };
    });
  }

  async *events(id?: string, signal?: AbortSignal): AsyncGenerator<SyncEventShape, void> {
    const only = id === undefined ? undefined : (await this.status(id)).id;
    const shapes = (await this.list()).filter((one) => only === undefined || one.id === only);
    const states = shapes.map((sync): SyncNews => ({ kind: "state", id: sync.id, sync }));
    const signals = [this.#closing.signal, ...(signal === undefined ? [] : [signal])];
    yield* this.#feed.follow(states, { id: only, signals });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#again?.[Symbol.dispose]();
    await Promise.all([...this.#turns.values()]);
    const ends = await Promise.allSettled([...this.#running.keys()].map((id) => this.#letGo(id)));
    // The first error is thrown only after all syncs are closed.
    for (const end of ends) if (end.status === "rejected") throw end.reason;
  }

  async #takeUp(id: string): Promise<void> {
    if (this.#running.has(id)) return;
    const { sync } = await this.#run(id, (record) => record);
    // Another process may have stopped the sync while this process waited.
    if (sync.record.stopped === true) await this.#letGo(id);
  }

  /**
   * Opens and starts a sync. `recordOf` returns the record with which the sync starts. The argument of `recordOf` is
   * the record in the log; `undefined` if the log has no record.
   */
  async #run(id: string, recordOf: (record: ReplicaRecord | undefined) => ReplicaRecord | undefined): Promise<Running> {
    const { places, random } = this.#options;
    await using opening = new AsyncDisposableStack();
    const place = opening.use(await places.open(id));
    const record = recordOf(place.record);
    if (record === undefined) throw new ChronicleError("NOT_FOUND", "this folder follows no origin");
    const sync: FolderSync = new FolderSync(
      {
        ...place.parts,
        connect: (signal) => places.connect(id, sync.record, signal),
        timers: this.#timers,
        random,
      },
      record,
    );
    const tell = (news: SyncNews): void => this.#feed.tell(news);
    const listening = sync.happened.listen((one) =>
      tell(one.kind === "state" ? { kind: "state", id, sync: sync.shape } : { ...one, id }),
    );
    opening.defer(() => listening[Symbol.dispose]());
    await sync.start();
    opening.move();
    const running = { place, sync, listening, alive: keepAlive() };
    this.#running.set(id, running);
    this.#waiting.delete(id);
    return running;
  }

  async #letGo(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    try {
      await running.sync.close();
    } finally {
      running.listening[Symbol.dispose]();
      running.alive[Symbol.dispose]();
      await running.place[Symbol.asyncDispose]();
    }
  }

  /**
   * Carries out the work on a sync. If the sync is not running, opens the sync first. If the sync is stopped after the
   * work, closes the sync.
   */
  async #with<T>(asked: string, work: (running: Running) => Promise<T>): Promise<T> {
    this.#refuseClosed();
    const { id } = await this.status(asked);
    return this.#inTurn(id, async () => {
      const running = this.#running.get(id) ?? (await this.#run(id, (record) => record));
      try {
        return await work(running);
      } finally {
        if (running.sync.record.stopped === true) await this.#letGo(id);
      }
    });
  }

  /**
   * Runs the work after all earlier work of the same sync. Rejects with `UNAVAILABLE` once the controller is closed.
   */
  #inTurn<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const next = before.then(() => {
      this.#refuseClosed();
      return withCode(work);
    });
    const settled = next.then(
      () => undefined,
      () => undefined,
    );
    this.#turns.set(id, settled);
    void settled.then(() => this.#turns.get(id) === settled && this.#turns.delete(id));
    return next;
  }

  #lookAgain(): void {
    if (this.#again !== undefined || this.#closing.signal.aborted) return;
    this.#again = this.#timers.after(AGAIN_MS, () => {
      this.#again = undefined;
      this.takeUp().catch((error: unknown) => this.#options.onError(error));
    });
  }

  #refuseClosed(): void {
    if (this.#closing.signal.aborted) throw new ChronicleError("UNAVAILABLE", "this process is being ended");
  }
}

/**
 * Returns the field `protected` of the sync's shape, about the files that are not sent because they are secrets.
 * Returns `{}` if there are no such files.
 */
async function secretsHere(context: Context, record: ReplicaRecord): Promise<Pick<SyncShape, "protected">> {
  if (record.withProtected === true) return {};
  const found = await protectedFiles(context);
  return found.files === 0 ? {} : { protected: found };
}

function beginOptions({ upstream: url, workspace, force = false }: SyncStart, answer: OriginAnswer): BeginOptions {
  const answered = "workspace" in answer ? answer.workspace : undefined;
  return { force, follows: { url, ...optional({ workspace, answered }) } };
}

/** An event without the fields that the feed adds. */
type SyncNews = SyncEventShape extends infer One
  ? One extends { readonly seq: number }
    ? Omit<One, "seq" | "timestamp">
    : never
  : never;

/**
 * The maximum number of events that wait for a slow listener. Above this number, the oldest events are dropped, because
 * later events carry the present state.
 */
const MOST_WAITING = 1_000;

class SyncFeed {
  readonly #news = new Signal<SyncEventShape>();
  readonly #now: () => number;
  #seq = 0;

  /** `now` is in epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  tell(news: SyncNews): void {
    this.#news.emit(this.#shaped(news));
  }

  /**
   * Yields `states`, and then the events of the sync `id` (of all syncs if `id` is undefined), until one of `signals`
   * aborts.
   */
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

/** Counts the recorded files and links that a folder shares with its origin. */
async function countFiles(context: Context, rules: Pick<ReplicatedPaths, "isShared">): Promise<number> {
  await catchUp(context, { recover: false });
  const { seq } = await context.index.head();
  let count = 0;
  for await (const rows of context.index.entriesAt(seq)) {
    count += rows.filter(
      ({ path, entry }) => entry !== undefined && entry.kind !== "dir" && rules.isShared(path, false),
    ).length;
  }
  return count;
}
