import { ChronicleError, withCode } from "../../core/values/errors.ts";
import { yieldToEventLoop } from "../../util/yield-to-event-loop.ts";
import { answer } from "../log/answer.ts";
import { catchUp, refill, type CatchUp } from "../log/catch-up.ts";
import type { Context, HeadFollower, KeptHead } from "../log/context.ts";
import { keepHead } from "./head.ts";
import type { SigningFault } from "../log/signing-fault.ts";

/**
 * The shortest interval, in ms, at which commits keep (sign and store) the head of a busy workspace. Also the delay of
 * the timer that keeps the head after the last commit.
 */
const FOLLOW_MS = 1_000;
/** The least time in ms between two kept heads while many workspaces are busy. Each kept head costs an fsync. */
const KEEP_ONE_EVERY_MS = 100;
/**
 * The wait of busy workspaces after a head was kept, as a multiple of the time that keeping the head took. The wait is
 * at most `PUT_OFF_MS`.
 */
const KEEPING_SHARE = 40;
/** The longest wait of busy workspaces after a head is kept, in ms. */
const PUT_OFF_MS = 1_000;
/**
 * The longest time, in ms, that a timer's work waits for the workspace's lock. If the lock is not free by then, the
 * work is tried again a second later.
 */
const LOCK_MS = 500;

/** Runs work later. A waiting timer does not keep the process alive. */
export interface HeadTimers {
  after(ms: number, run: () => void): Disposable;
}

/** The pace at which a process keeps the heads of its open workspaces. */
export class HeadPace {
  readonly now: () => number;
  /** `undefined` if the process has no timers. In that case, heads are kept only with commits and at the close. */
  readonly timers: HeadTimers | undefined;
  #next = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(now: () => number, timers?: HeadTimers) {
    this.now = now;
    this.timers = timers;
  }

  /** True if a busy workspace's head may be kept now. */
  get isFree(): boolean {
    const now = this.now();
    // A remaining wait of more than `PUT_OFF_MS` shows that the clock was set back. Such a wait is ignored.
    return now >= this.#next || this.#next - now > PUT_OFF_MS;
  }

  /** Keeps a head. After that, the next head of a busy workspace waits in proportion to the time that `keep` took. */
  async measured(keep: () => Promise<void>): Promise<void> {
    const start = this.now();
    this.#next = start + KEEP_ONE_EVERY_MS;
    await keep();
    const end = this.now();
    const rest = Math.min((end - start) * KEEPING_SHARE, PUT_OFF_MS);
    this.#next = end + Math.max(KEEP_ONE_EVERY_MS, rest);
  }

  /**
   * Runs `work` once all work that was given earlier has ended, even if that work failed. The rest of the process can
   * run in between.
   */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last
      .catch(() => undefined)
      .then(yieldToEventLoop)
      .then(work);
    this.#last = next;
    return next;
  }
}

/**
 * Keeps the head of one open workspace at these times:
 *
 * - A commit keeps the head if the first event without a kept head is more than a second old, and the pace of the
 *   process allows this.
 * - A timer keeps the head a second after the first event without a kept head. If the pace does not allow this and the
 *   last commit is less than a second old, the timer waits until a second after that commit. If no further commit came
 *   by then, the workspace is no longer busy, and the timer keeps the head whatever the pace says.
 * - The close keeps the head, so that a short-lived process signs when it ends.
 */
export class PacedHeadFollower implements HeadFollower {
  readonly #pace: HeadPace;
  readonly #contextOf: () => Context;
  #behindSince: number | undefined;
  #lastCommit = 0;
  #timer: Disposable | undefined;
  #going: Promise<void> | undefined;
  #hasTold = false;
  #ended = false;

  constructor(pace: HeadPace, contextOf: () => Context) {
    this.#pace = pace;
    this.#contextOf = contextOf;
  }

  async committed(): Promise<void> {
    const now = this.#pace.now();
    this.#lastCommit = now;
    this.#behindSince ??= now;
    if (isWithin(FOLLOW_MS, this.#behindSince, now) || !this.#pace.isFree) return this.#arm(FOLLOW_MS);
    try {
      await this.#pace.measured(() => this.#keep(this.#contextOf()));
    } catch (error) {
      // The appended events are durable, so the caller must not be told that the append failed.
      this.#tell(error);
    }
  }

  seen(seq: number): void {
    const { readOnly, heads, workspaceId } = this.#contextOf();
    if (readOnly || this.#behindSince !== undefined || seq <= seqOf(heads.last(workspaceId))) return;
    this.#behindSince = this.#pace.now();
    this.#arm(FOLLOW_MS);
  }

  async end(): Promise<CatchUp | undefined> {
    this.#ended = true;
    this.#disarm();
    await this.#going;
    if (this.#behindSince === undefined) return undefined;
    const context = this.#contextOf();
    return withCode(
      async () => (await this.#catchUpAndKeep(context.waitMs)) ?? answer(context, (found) => Promise.resolve(found)),
    );
  }

  async keepNow(): Promise<void> {
    if (this.#behindSince === undefined || this.#ended) return;
    await withCode(() => this.#catchUpAndKeep(this.#contextOf().waitMs));
  }

  #arm(ms: number): void {
    if (this.#ended || this.#timer !== undefined) return;
    this.#timer = this.#pace.timers?.after(ms, () => {
      this.#timer = undefined;
      this.#fire();
    });
  }

  #disarm(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #fire(): void {
    if (this.#behindSince === undefined || this.#ended) return;
    const now = this.#pace.now();
    // While the workspace is busy and the pace does not allow the head to be kept, the timer waits. A commit in the
    // meantime may also keep the head.
    if (isWithin(FOLLOW_MS, this.#lastCommit, now) && !this.#pace.isFree) {
      return this.#arm(this.#lastCommit + FOLLOW_MS - now);
    }
    this.#going = this.#pace
      .inTurn(() => this.#pace.measured(() => withCode(async () => void (await this.#catchUpAndKeep(LOCK_MS)))))
      .catch((error: unknown) => this.#tell(error))
      .then(() => {
        this.#going = undefined;
        if (this.#behindSince !== undefined) this.#arm(FOLLOW_MS);
      });
  }

  /**
   * Reports that a head could not be kept. Does not report further faults until a head was kept again. Such a fault
   * does not make a commit fail, and no caller waits for the work of the timer. The next commit, the timer or the close
   * tries again.
   */
  #tell(error: unknown): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    this.#contextOf().tell?.(
      `the head could not be signed and kept: ${error instanceof Error ? error.message : String(error)}`,
    );
  }

  /**
   * Catches up with the log and returns the result. Keeps the head, unless the log is damaged. Takes the lock, because
   * only its holder knows that everything up to the end of the log is acknowledged. Returns `undefined` if the lock is
   * not free within `waitMs`.
   */
  async #catchUpAndKeep(waitMs: number): Promise<CatchUp | undefined> {
    const context = this.#contextOf();
    try {
      using _held = await context.lock.exclusive(waitMs);
      const found = await caughtUp(context);
      if (found.damage === undefined) await this.#keep(context);
      else this.#behindSince = undefined;
      return found;
    } catch (error) {
      // Another process holds the lock, because it is writing. That process will sign these events together with its
      // own.
      if (!(error instanceof ChronicleError) || error.code !== "LOCKED") throw error;
      return undefined;
    }
  }

  async #keep(context: Context): Promise<void> {
    const fault = await keepHead(context);
    this.#behindSince = undefined;
    this.#disarm();
    if (fault === undefined) this.#hasTold = false;
    else this.#tellUnsigned(context, fault);
  }

  /**
   * Reports that the recorded events stay unsigned. Does not report further faults until a head was signed again. Such
   * a fault does not make a commit fail.
   */
  #tellUnsigned(context: Context, fault: SigningFault): void {
    if (this.#hasTold) return;
    this.#hasTold = true;
    context.tell?.(`what is recorded is not signed: ${fault.message}; ${fault.hint}`);
    context.unsigned?.(fault);
  }
}

async function caughtUp(context: Context): Promise<CatchUp> {
  try {
    return await catchUp(context, { recover: false, locked: true });
  } catch (error) {
    if (!(error instanceof ChronicleError) || error.code !== "INTEGRITY_VIOLATION") throw error;
    return refill(context);
  }
}

/** True if `now` is less than `ms` after `since`; false if the clock was set back. */
function isWithin(ms: number, since: number, now: number): boolean {
  return now >= since && now - since < ms;
}

function seqOf(kept: KeptHead | undefined): number {
  return kept?.seq ?? 0;
}
