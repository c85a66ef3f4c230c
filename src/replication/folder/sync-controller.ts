import type { ConflictShape } from "../../api/conflict-shape.ts";
import type {
  SyncEventShape,
  SyncResolution,
  SyncResolvedShape,
  SyncRunner,
  SyncShape,
  SyncStart,
} from "../../api/sync-api.ts";
import { ChronicleError, withCode } from "../../core/errors.ts";
import type { ReplicaRecord } from "../../core/replica-record.ts";
import { parseGivenPath } from "../../workspace/given-path.ts";
import { NODE_TIMERS, type Timers } from "../timers.ts";
import { FolderSync } from "./folder-sync.ts";
import { recordOf, refuseOther } from "./sync-start.ts";
import { SyncNews } from "./sync-news.ts";
import type { OpenSyncPlace, SyncPlace, SyncPlaces } from "./sync-places.ts";
import { restingShape } from "./sync-shape.ts";

/** What a controller stands on. */
export interface SyncControllerOptions {
  readonly places: SyncPlaces;
  /** Default: the platform's. */
  readonly timers?: Timers;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** 0 to 1. */
  readonly random?: () => number;
  /** Is told of what goes wrong while nobody asks. */
  readonly onError?: (error: unknown) => void;
}

/** A sync that is open in this process. */
interface Running {
  readonly place: OpenSyncPlace;
  readonly sync: FolderSync;
  readonly listening: Disposable;
}

/** Runs the syncs of a store: folders that follow workspaces of origins, and write back to them. */
export class SyncController implements SyncRunner {
  readonly #options: SyncControllerOptions;
  readonly #running = new Map<string, Running>();
  /** What is being done with each, one thing after another. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #news: SyncNews;
  #isClosed = false;

  constructor(options: SyncControllerOptions) {
    this.#options = options;
    this.#news = new SyncNews(options.now ?? Date.now);
  }

  get active(): number {
    return this.#running.size;
  }

  async takeUp(): Promise<void> {
    for (const { id, record } of await this.#options.places.list()) {
      if (record === undefined || record.stopped === true || this.#running.has(id)) continue;
      try {
        await this.#inTurn(id, () => this.#open(id));
      } catch (error) {
        this.#options.onError?.(error);
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#running.keys()].map((id) => this.#inTurn(id, () => this.#letGo(id), true)));
    this.#news.end();
  }

  async start(options: SyncStart): Promise<SyncShape> {
    const { places } = this.#options;
    const asked = recordOf(options);
    return withCode(async () => {
      const id = await places.begin(options.folder);
      return this.#inTurn(id, async () => {
        const known = this.#running.get(id)?.sync.record ?? (await this.#place(id))?.record;
        if (known !== undefined) refuseOther(known, asked, options.folder);
        if (options.token !== undefined) places.keepToken(id, options.token);
        await this.#letGo(id);
        const sync = await this.#open(id, asked);
        return sync.shape;
      });
    });
  }

  async list(): Promise<SyncShape[]> {
    const all = await withCode(() => this.#options.places.list());
    const resting = all.filter(({ id }) => !this.#running.has(id)).flatMap((place) => shapeOf(place) ?? []);
    return [...[...this.#running.values()].map(({ sync }) => sync.shape), ...resting].sort((a, b) =>
      a.folder < b.folder ? -1 : 1,
    );
  }

  async status(id: string): Promise<SyncShape> {
    return this.#find(id);
  }

  async stop(id: string): Promise<SyncShape> {
    const { id: found } = await this.#find(id);
    return this.#inTurn(found, async () => {
      const sync = this.#running.get(found)?.sync ?? (await this.#open(found));
      await sync.stop();
      const { shape } = sync;
      await this.#letGo(found);
      this.#options.places.keepToken(found, undefined);
      return shape;
    });
  }

  async pause(id: string): Promise<SyncShape> {
    return this.#with(id, (sync) => sync.pause());
  }

  async resume(id: string, options: Parameters<SyncRunner["resume"]>[1] = {}): Promise<SyncShape> {
    return this.#with(id, (sync) => sync.resume(options));
  }

  async flush(id: string, options: Parameters<SyncRunner["flush"]>[1] = {}): Promise<SyncShape> {
    const sync = await this.#runningSync(id);
    await withCode(() => sync.flush(options));
    return sync.shape;
  }

  async conflicts(id: string): Promise<ConflictShape[]> {
    const { id: found } = await this.#find(id);
    const open = this.#running.get(found)?.place;
    return withCode(async () =>
      open === undefined ? [...((await this.#place(found))?.conflicts ?? [])] : open.conflicts(),
    );
  }

  async resolve(id: string, path: string, resolution: SyncResolution): Promise<SyncResolvedShape> {
    const sync = await this.#runningSync(id);
    const { keep } = resolution;
    if (!["local", "upstream", "merge"].includes(keep)) {
      throw new ChronicleError("USAGE", `a conflict cannot be settled as ${JSON.stringify(keep)}`, {
        hint: "say local, upstream or merge",
      });
    }
    await withCode(() => sync.resolve(parseGivenPath(path), resolution));
    const { conflicts, id: found } = sync.shape;
    return { id: found, path, kept: keep, conflicts };
  }

  events(id?: string, signal?: AbortSignal): AsyncIterable<SyncEventShape> {
    const begin = async (): Promise<SyncShape[]> => (id === undefined ? this.list() : [await this.#find(id)]);
    return this.#news.follow(begin, { only: id === undefined ? undefined : (sync) => isMeant(sync, id), signal });
  }

  /** Opens a sync and begins it, with another record than its log's where one is given. */
  async #open(id: string, asked?: ReturnType<typeof recordOf>): Promise<FolderSync> {
    const { places, timers = NODE_TIMERS, random = Math.random } = this.#options;
    const place = await places.open(id);
    try {
      const record: ReplicaRecord | undefined = asked?.({ id, known: place.record }) ?? place.record;
      if (record === undefined) throw unknown(id);
      const connect = (signal: AbortSignal): ReturnType<SyncPlaces["connect"]> =>
        places.connect(id, sync.record, signal);
      const sync = new FolderSync({ ...place.parts, connect, timers, random }, record);
      const listening = sync.happened.listen((what) => this.#news.tell(id, what, () => sync.shape));
      this.#running.set(id, { place, sync, listening });
      await sync.start({ isNew: asked !== undefined });
      return sync;
    } catch (error) {
      await this.#letGo(id);
      await place[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #letGo(id: string): Promise<void> {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    const { place, sync, listening } = running;
    await sync.close();
    listening[Symbol.dispose]();
    await place[Symbol.asyncDispose]();
  }

  async #with(id: string, work: (sync: FolderSync) => Promise<void>): Promise<SyncShape> {
    const { id: found } = await this.#find(id);
    return this.#inTurn(found, async () => {
      const sync = this.#running.get(found)?.sync;
      if (sync === undefined) throw stopped(found);
      await work(sync);
      return sync.shape;
    });
  }

  async #runningSync(id: string): Promise<FolderSync> {
    const { id: found } = await this.#find(id);
    const sync = this.#running.get(found)?.sync;
    if (sync === undefined) throw stopped(found);
    return sync;
  }

  /** By the id, its unique beginning, or the folder. */
  async #find(asked: string): Promise<SyncShape> {
    const all = await this.list();
    const exact = all.filter(({ id, folder }) => id === asked || folder === asked.replace(/(?<=.)\/+$/, ""));
    const found = exact.length > 0 ? exact : all.filter((one) => isMeant(one, asked));
    const [only] = found;
    if (only === undefined) throw unknown(asked);
    if (found.length === 1) return only;
    throw new ChronicleError("AMBIGUOUS", `several syncs begin with ${asked}`, {
      hint: "give more of the id, or the folder",
      data: { ids: found.map(({ id }) => id) },
    });
  }

  async #place(id: string): Promise<SyncPlace | undefined> {
    return (await this.#options.places.list()).find((one) => one.id === id);
  }

  #inTurn<T>(id: string, work: () => Promise<T>, isLast = false): Promise<T> {
    const before = this.#turns.get(id) ?? Promise.resolve();
    const next = before
      .catch(() => undefined)
      .then(() => {
        if (this.#isClosed && !isLast) throw new ChronicleError("UNAVAILABLE", "this process is being ended");
        return withCode(work);
      });
    this.#turns.set(id, next);
    return next;
  }
}

function shapeOf({ id, folder, record, conflicts }: SyncPlace): SyncShape | undefined {
  return record === undefined ? undefined : restingShape({ id, folder, record, conflicts: conflicts.length });
}

function isMeant({ id, folder }: SyncShape, asked: string): boolean {
  return folder === asked.replace(/(?<=.)\/+$/, "") || (asked.length >= 4 && id.startsWith(asked));
}

function unknown(asked: string): ChronicleError {
  return new ChronicleError("NOT_FOUND", `there is no sync ${JSON.stringify(asked)}`, {
    hint: "`chronicle sync status` lists them; `chronicle sync start` begins one",
  });
}

function stopped(id: string): ChronicleError {
  return new ChronicleError("UNAVAILABLE", `the sync ${id} is stopped`, {
    hint: "start it again: chronicle sync start",
  });
}
