/** Random numbers determined by a seed. */
export interface SimRandom {
  /** Returns an integer from 0 up to, not including, `limit`; 0 if `limit` is 0. */
  below(limit: number): number;
}

/** Mulberry32 (Tommy Ettinger, public domain): short, fast, and good enough to choose what survives a crash. */
export function simRandom(seed: number): SimRandom {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) >>> 0;
  return {
    below(limit) {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
    },
  };
}
