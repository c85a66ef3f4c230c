import type { LinkArrival, LinkFrame } from "../replication/channels/memory-wire.ts";

/** How bad a simulated network is. Shares are 0 to 1. */
export interface WeatherOptions {
  readonly seed: number;
  /** Frames that never arrive. */
  readonly loss?: number;
  /** Frames that arrive twice. */
  readonly duplication?: number;
  /** Frames of which a byte is changed on the way. */
  readonly corruption?: number;
  /** Each arrival takes between 0 and so many milliseconds: later frames overtake earlier ones. Default 0. */
  readonly delayMs?: number;
  /** Nothing arrives from this end while it is so; asked for each frame. */
  readonly isPartitioned?: (from: LinkFrame["from"]) => boolean;
}

/** What becomes of each frame on a simulated network, the same for the same seed: the `deliver` of memory wires. */
export function linkWeather(options: WeatherOptions): (frame: LinkFrame) => readonly LinkArrival[] {
  const next = numbers(options.seed);
  const happens = (share = 0): boolean => next() < share;
  const arrival = (bytes: Uint8Array): LinkArrival => {
    const afterMs = Math.floor(next() * (options.delayMs ?? 0));
    if (!happens(options.corruption)) return { afterMs };
    const damaged = Uint8Array.from(bytes);
    const at = Math.floor(next() * damaged.length);
    damaged[at] = (damaged[at] ?? 0) ^ (1 + Math.floor(next() * 255));
    return { afterMs, bytes: damaged };
  };
  return ({ from, bytes }) => {
    if (options.isPartitioned?.(from) === true || happens(options.loss)) return [];
    return happens(options.duplication) ? [arrival(bytes), arrival(bytes)] : [arrival(bytes)];
  };
}

/** Numbers from 0 to 1 (mulberry32, a public-domain generator by Tommy Ettinger). */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
