/** A rate: `burst` requests at once, and `perSecond` after these. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

interface Bucket {
  /** The number of tokens in the bucket. */
  left: number;
  /** The time of the last update, in epoch milliseconds. */
  at: number;
}

/** The maximum number of buckets. For one more, the bucket used longest ago is dropped, and is full when used again. */
const MOST_KEYS = 10_000;

/** Limits rates by a token bucket for each key: it refills with time, and each request takes a token. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Takes a token. Returns 0 if there was one, else the seconds until the next one. `now`: epoch milliseconds. */
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
    // Inserted anew, so that the first key of the map is the key used longest ago.
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
