import { type Rate, RateLimiter } from "./rate-limiter.ts";

/** The rate at which one caller's refusals are recorded, so that they cannot make anything grow without bound. */
const RATE: Rate = { burst: 20, perSecond: 0.1 };
/** The number of callers that are counted at once. */
const MOST_CALLERS = 10_000;

/** Decides which refusals are recorded, and counts the others. */
export class Refusals {
  readonly #limiter = new RateLimiter(RATE);
  readonly #unlisted = new Map<string, number>();

  /**
   * Returns how many refusals of a caller were left out since the last recorded one; `undefined`: this one is left out,
   * too. `now`: epoch milliseconds.
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
