import type { FollowOptions } from "../../api/workspace-api.ts";
import { isTroubleOfDisk } from "../../core/values/errno.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { LASTING_TIMERS } from "../../util/timers.ts";
import { optional } from "../../util/optional.ts";
import { capture } from "./capture.ts";
import { refuseReadOnly, refuseArchived } from "../commit/commit.ts";
import { type Context, isHosted } from "../log/context.ts";
import { applySettings } from "../log/follow-settings.ts";
import { HintedCapture } from "./hinted-capture.ts";
import type { OperationQueue } from "./operation-queue.ts";

/**
 * The time, in milliseconds, for which a file must have been quiet before it is scanned. Editors and tools write in
 * bursts.
 */
const SETTLE_MS = 50;
/** The first and the longest delay, in milliseconds, before a failed capture is retried. */
const RETRY_MS = 2_000;
const LONGEST_RETRY_MS = 30_000;

/** The reason why nothing can be recorded. `read-only`: the workspace is archived. */
type Trouble = "disk" | "read-only" | "other";

/**
 * Records the changes in a followed folder as they happen, while the workspace is open. The recorder is no session and
 * owns no changes. Changes are attributed as in every capture. For example, changes that an agent makes in an action
 * belong to the action.
 */
export class LiveRecorder {
  readonly #context: Context;
  readonly #hinted: HintedCapture;
  #onError: FollowOptions["onError"];
  #retry: NodeJS.Timeout | undefined;
  readonly #first = Promise.withResolvers<void>();
  #retryMs = RETRY_MS;
  /** The message of the last error, as long as no scan has succeeded since. */
  #told: string | undefined;
  #since = 0;

  constructor(context: Context, queue: OperationQueue) {
    this.#context = context;
    this.#hinted = new HintedCapture({
      dirty: context.live,
      quietMs: SETTLE_MS,
      // These timers begin the captures. The timers keep the process alive, and so do the captures.
      timers: LASTING_TIMERS,
      inTurn: (scan) => queue.change(scan),
      prepare: () => this.#prepare(),
      capture: (only) => capture(context, { cause: "capture", ...optional({ only }) }),
      onScanned: (error) => this.#scanned(error),
    });
  }

  /**
   * Starts to record in a followed folder. Earlier changes are recorded first (see `first`). Does nothing for a hosted
   * workspace. Throws `READ_ONLY` if the workspace was opened for reading only.
   */
  start({ onError }: FollowOptions): void {
    if (isHosted(this.#context.worktree.roots)) return this.#first.resolve();
    refuseReadOnly(this.#context);
    this.#onError = onError;
    if (!this.#hinted.isStarted) this.#since = this.#context.now();
    this.#hinted.start();
    this.#hinted.want();
  }

  /**
   * The time at which this recorder started, and the message of its last error if no scan has succeeded since.
   * `undefined` if the recorder does not record.
   */
  get state(): { readonly since: number; readonly trouble?: string } | undefined {
    return this.#hinted.isStarted ? { since: this.#since, ...optional({ trouble: this.#told }) } : undefined;
  }

  /** Resolves when the changes from before the start are recorded, when recording them has failed, or after `stop`. */
  first(): Promise<void> {
    return this.#first.promise;
  }

  /** Stops recording. Resolves when no scan is running. */
  async stop(): Promise<void> {
    clearTimeout(this.#retry);
    await this.#hinted.stop();
    this.#first.resolve();
  }

  async #prepare(): Promise<boolean> {
    clearTimeout(this.#retry);
    // A capture stores contents before its commit, so an archived workspace must be refused before the capture.
    await refuseArchived(this.#context);
    return applySettings(this.#context);
  }

  #scanned(error: unknown): void {
    if (error === undefined) {
      this.#told = undefined;
      this.#retryMs = RETRY_MS;
    } else {
      const trouble = troubleOf(error);
      this.#failed(error, trouble);
      this.#planAgain(trouble);
    }
    this.#first.resolve();
  }

  /**
   * Plans to repeat a failed capture, even if nothing changes meanwhile. A capture fails, for example, if the disk is
   * gone or full, or if the lock is held.
   *
   * - `disk`: no hinted capture runs before the repetition.
   * - `other`: an edit starts a capture at once, and does not wait for the repetition, because the trouble may be over.
   * - `read-only`: nothing is planned, because the first change after the workspace is unarchived leads to a full scan.
   */
  #planAgain(trouble: Trouble): void {
    if (!this.#hinted.isStarted || trouble === "read-only") return;
    clearTimeout(this.#retry);
    if (trouble === "disk") {
      this.#hinted.rest(this.#retryMs);
      this.#hinted.want();
    } else this.#retry = setTimeout(() => this.#hinted.want(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
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
