import { type Rate, RateLimiter } from "./rate-limiter.ts";

/** How often what one caller was refused is written down: nothing may grow by being refused. */
const RATE: Rate = { burst: 20, perSecond: 0.1 };
/** So many callers are counted for at once. */
const MOST_CALLERS = 10_000;

/** Which refusals are written down, and how many were not. */
export class Refusals {
  readonly #limiter = new RateLimiter(RATE);
  readonly #unlisted = new Map<string, number>();

  /**
   * How many of a caller's were left out since the last that was written down; `undefined`: this one is left out, too.
   * `now`: epoch milliseconds.
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
