import type { ConflictShape } from "../../api/conflict-shape.ts";
import type {
  SyncEventShape,
  SyncResolution,
  SyncResolvedShape,
  SyncRunner,
  SyncShape,
  SyncStart,
} from "../../api/sync-api.ts";
import { ChronicleError } from "../../core/errors.ts";
import type { ReplicaRecord } from "../../core/replica-record.ts";
import { TurnQueue } from "../../util/turn-queue.ts";
import { NODE_TIMERS, type Timers } from "../timers.ts";
import { FolderSync } from "./folder-sync.ts";
import { SyncFeed, type SyncNews } from "./sync-feed.ts";
import type { OpenSyncPlace, SyncPlace, SyncPlaces } from "./sync-places.ts";
import { recordFor, refuseOther, restingShape, upstreamUrl } from "./sync-settings.ts";

/** What a controller works with. */
export interface SyncControllerOptions {
  readonly places: SyncPlaces;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** 0 to 1. */
  readonly random: () => number;
  /** Default: the platform's. */
  readonly timers?: Timers;
  /** Is told what went wrong where nobody waits for it. */
  readonly onError: (error: unknown) => void;
}

/** One that another process runs may be free after so long, in milliseconds. */
const AGAIN_MS = 10_000;

interface Running {
  readonly place: OpenSyncPlace;
  readonly sync: FolderSync;
  readonly listening: Disposable;
}

/**
 * Runs the syncs of a store in this process, each by itself. What it is told is in their logs before it answers, so that
 * the next process goes on from there.
 */
export class SyncController implements SyncRunner {
  readonly #options: SyncControllerOptions;
  readonly #timers: Timers;
  readonly #feed: SyncFeed;
  readonly #running = new Map<string, Running>();
  readonly #turns = new Map<string, TurnQueue>();
  readonly #closing = new AbortController();
  #again: Disposable | undefined;

  constructor(options: SyncControllerOptions) {
    this.#options = options;
    this.#timers = options.timers ?? NODE_TIMERS;
    this.#feed = new SyncFeed(options.now);
  }
}
