/** The size of a token bucket (`burst`) and the rate at which it is refilled (`perSecond`). */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

interface Bucket {
  left: number;
  /** The time of the last update, in epoch milliseconds. */
  at: number;
}

/**
 * Above this number of buckets, the least recently used one is dropped. A key whose bucket was dropped begins with a
 * full bucket.
 */
const MOST_KEYS = 10_000;

/** One token bucket per key. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /**
   * Takes a token from the bucket of the key, and returns 0. If the bucket has no token, returns the time until the
   * next token, in whole seconds (at least 1). `now` is in epoch milliseconds.
   */
  take(key: string, now: number): number {
    const bucket = this.#filled(key, now);
    if (bucket.left < 1) return this.#wait(bucket);
    bucket.left -= 1;
    return 0;
  }

  #wait({ left }: Bucket): number {
    return Math.max(1, Math.ceil((1 - left) / this.#rate.perSecond));
  }

  #filled(key: string, now: number): Bucket {
    const { burst, perSecond } = this.#rate;
    const known = this.#buckets.get(key);
    const passed = known === undefined ? 0 : Math.max(0, now - known.at) / 1000;
    const left = known === undefined ? burst : Math.min(burst, known.left + passed * perSecond);
    // Insert the bucket anew, so that the first key of the map is the least recently used one.
    this.#buckets.delete(key);
    const bucket = { left, at: now };
    this.#buckets.set(key, bucket);
    if (this.#buckets.size > MOST_KEYS) {
      const [oldest] = this.#buckets.keys();
      if (oldest !== undefined) this.#buckets.delete(oldest);
    }
    return bucket;
  }
}
