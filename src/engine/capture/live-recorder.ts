import type { FollowOptions } from "../../api/workspace-api.ts";
import { isTroubleOfDisk } from "../../core/values/errno.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { capture } from "./capture.ts";
import { refuseReadOnly, refuseArchived } from "../commit/commit.ts";
import { type Context, isHosted } from "../log/context.ts";
import { applySettings } from "../log/follow-settings.ts";
import { longestWaitMs, QuietPaths } from "./quiet-paths.ts";
import type { OperationQueue } from "./operation-queue.ts";

/**
 * The time for which a file must have been quiet before it is scanned, in milliseconds: editors and tools write in
 * bursts.
 */
const SETTLE_MS = 50;
/** Timers that keep the process alive, as do the captures that they begin. */
const TIMERS = {
  after(ms: number, run: () => void): Disposable {
    const timer = setTimeout(run, ms);
    return { [Symbol.dispose]: () => clearTimeout(timer) };
  },
};
/** The first and the longest delay before a failed capture is retried, in milliseconds. */
const RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 30_000;
/**
 * The wait between two scans is at least this many times the time of a scan: a busy folder is not read all the time.
 */
const BUSY_FACTOR = 3;

/** The reason why nothing can be recorded. `read-only`: the workspace is archived. */
type Trouble = "disk" | "read-only" | "other";

/**
 * Records the changes in a followed folder as they happen, while the workspace is open. It is no session and owns no
 * changes: they are attributed as in every capture, so an agent's actions keep theirs.
 */
export class LiveRecorder {
  readonly #context: Context;
  readonly #queue: OperationQueue;
  #onError: FollowOptions["onError"];
  #listening: Disposable | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  #isWanted = false;
  /** Paths that are still being written. They stay in `live`, so that a full scan takes them without waiting. */
  readonly #busy = new QuietPaths({
    ...{ quietMs: SETTLE_MS, mostMs: longestWaitMs(SETTLE_MS), timers: TIMERS },
    onQuiet: (paths, isLate) => {
      // Chronicle's own writes need no scan, and so neither the lock nor a read of the log's end.
      if (!this.#context.live.dropUnchanged()) return;
      if (isLate) for (const path of paths ?? []) this.#late.add(path);
      this.#plan(0);
    },
  });
  /** Paths whose longest wait is over. */
  #late = new Set<WorkspacePath>();
  readonly #first = Promise.withResolvers<void>();
  #retryMs = RETRY_MS;
  /** The last error, while it persists. */
  #told: string | undefined;

  constructor(context: Context, queue: OperationQueue) {
    this.#context = context;
    this.#queue = queue;
  }

  /**
   * Starts to record in a folder that is followed. Earlier changes are recorded first (see `first`). Throws
   * `READ_ONLY`.
   */
  start({ onError }: FollowOptions): void {
    if (isHosted(this.#context.worktree.roots)) return this.#first.resolve();
    refuseReadOnly(this.#context);
    this.#onError = onError;
    this.#listening ??= this.#context.live.hinted.listen((paths) => this.#busy.hint(paths));
    this.#plan(0);
  }

  /** Resolves when the changes from before the start are recorded, recording them has failed, or it was stopped. */
  first(): Promise<void> {
    return this.#first.promise;
  }

  /** Stops recording. Resolves when no scan is running. */
  async stop(): Promise<void> {
    this.#listening?.[Symbol.dispose]();
    this.#listening = undefined;
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#busy.clear();
    await this.#working;
    this.#first.resolve();
  }

  #plan(delay: number): void {
    this.#isWanted = true;
    if (this.#listening === undefined || this.#timer !== undefined || this.#working !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#work();
    }, delay);
  }

  async #work(): Promise<void> {
    const began = performance.now();
    clearTimeout(this.#retry);
    this.#isWanted = false;
    let trouble: Trouble | undefined;
    try {
      await this.#queue.change(() => this.#look());
      this.#told = undefined;
      this.#retryMs = RETRY_MS;
    } catch (error) {
      trouble = troubleOf(error);
      this.#failed(error, trouble);
    }
    this.#working = undefined;
    this.#first.resolve();
    if (trouble !== undefined) this.#planAgain(trouble);
    if (this.#isWanted) this.#plan(Math.max(SETTLE_MS, (performance.now() - began) * BUSY_FACTOR));
  }

  /**
   * Retries a capture that failed for want of a disk, the lock or space, even if nothing changes meanwhile. Trouble
   * with the disk puts off all captures until then; other trouble may be over with the next edit. An archived workspace
   * is not retried: the first change after it is unarchived leads to a full scan.
   */
  #planAgain(trouble: Trouble): void {
    if (this.#listening === undefined) return;
    // We cannot tell which of these paths were recorded.
    this.#context.live.giveBack(undefined);
    if (trouble === "read-only") return;
    if (trouble === "disk") this.#plan(this.#retryMs);
    else this.#retry = setTimeout(() => this.#plan(0), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }

  async #look(): Promise<void> {
    const { live } = this.#context;
    // An archived workspace takes no contents either, and a capture would store them.
    await refuseArchived(this.#context);
    // Folders may be tracked now that were not before.
    if (await applySettings(this.#context)) await live.restart();
    await live.settle();
    const late = this.#late;
    this.#late = new Set();
    const hinted = live.takeHinted();
    if (hinted === undefined) {
      await capture(this.#context, { cause: "capture" });
      return;
    }
    const isBusy = (path: WorkspacePath): boolean => this.#busy.holds(path) && !late.has(path);
    const only = hinted.filter((path) => !isBusy(path));
    live.giveBack(hinted.filter(isBusy));
    if (only.length > 0) {
      const { coverage } = await capture(this.#context, { cause: "capture", only });
      live.looked({ only, omitted: coverage.omitted });
    }
  }

  #failed(error: unknown, trouble: Trouble): void {
    if (trouble === "read-only") return;
    // A persistent error (the folder is gone) is reported once.
    const what = error instanceof Error ? error.message : String(error);
    if (what !== this.#told) this.#onError?.(error);
    this.#told = what;
  }
}

function troubleOf(error: unknown): Trouble {
  if (!(error instanceof ChronicleError)) return "other";
  const errno = error.data["errno"];
  if (error.code === "POISONED" || (typeof errno === "string" && isTroubleOfDisk(errno))) return "disk";
  return error.code === "READ_ONLY" ? "read-only" : "other";
}
