import { type Rate, RateLimiter } from "./rate-limiter.ts";

/** The maximum rate at which refusals of one caller are recorded, so that logs and diagnostics grow only slowly. */
const RATE: Rate = { burst: 20, perSecond: 0.1 };
/**
 * The maximum number of callers whose unrecorded refusals are counted. Above this number, the caller whose last refusal
 * is the oldest is no longer counted.
 */
const MOST_CALLERS = 10_000;

/** Decides which refusals are recorded, and counts those that are not. */
export class Refusals {
  readonly #limiter = new RateLimiter(RATE);
  /** Maps a caller to the number of its refusals since the last one that was recorded. */
  readonly #unlisted = new Map<string, number>();

  /**
   * If the refusal is to be recorded, returns the number of refusals of the caller since the last recorded one. If not,
   * counts the refusal and returns `undefined`. `now` is in epoch milliseconds.
   */
  next(caller: string, now: number): number | undefined {
    const unlisted = this.#unlisted.get(caller) ?? 0;
    this.#unlisted.delete(caller);
    if (this.#limiter.take(caller, now) === 0) return unlisted;
    const [oldest] = this.#unlisted.keys();
    if (this.#unlisted.size >= MOST_CALLERS && oldest !== undefined) this.#unlisted.delete(oldest);
    this.#unlisted.set(caller, unlisted + 1);
    return undefined;
  }
}
