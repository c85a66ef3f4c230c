/** How much is taken: `burst` at once, and `perSecond` from then on. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

interface Bucket {
  left: number;
  /** Epoch milliseconds. */
  at: number;
}

/** Beyond so many at once, whoever was heard of longest ago begins anew: memory is bounded, whoever asks. */
const MOST_KEYS = 10_000;

/** A bucket of tokens for each key: it fills up with time, and each request takes one out. */
export class RateLimiter {
  readonly #rate: Rate;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: Rate) {
    this.#rate = rate;
  }

  /** Takes one out. 0: go on; else: for how many seconds there is none. `now`: epoch milliseconds. */
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
    // Deleted first: the order of a map is that of insertion, so the first is the one heard of longest ago.
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
