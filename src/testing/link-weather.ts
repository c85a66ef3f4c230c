import type { LinkArrival, LinkFrame } from "../replication/channels/memory-wire.ts";
import { decodeFrame, decodeHeader, encodeFrame } from "../replication/protocol/frame.ts";

/** A fault of a frame in transit. */
export type LinkFault = "lost" | "repeated" | "damaged" | "forged" | "cut-off";

/** The faults of a simulated network. Shares are 0 to 1. */
export interface WeatherOptions {
  readonly seed: number;
  /** Share of frames that never arrive. */
  readonly loss?: number;
  /** Share of frames that arrive twice. */
  readonly duplication?: number;
  /** Share of frames of which a byte is changed in transit. */
  readonly corruption?: number;
  /** Share of frames whose lines or contents are changed by a forger who corrects the checksum. */
  readonly forgery?: number;
  /** Maximum delay of a second arrival, in ms. Default: as for the first one. */
  readonly repeatMs?: number;
  /** Maximum delay of each arrival, in ms: later frames overtake earlier ones. Default 0. */
  readonly delayMs?: number;
  /** True while nothing arrives from this end. Called for each frame. */
  readonly isPartitioned?: (from: LinkFrame["from"]) => boolean;
  /** Called with each fault. */
  readonly onFault?: (fault: LinkFault, bytes: Uint8Array) => void;
}

/** Returns the `deliver` function of memory wires for a simulated network, deterministic for a seed. */
export function linkWeather(options: WeatherOptions): (frame: LinkFrame) => readonly LinkArrival[] {
  const next = numbers(options.seed);
  const happens = (share = 0): boolean => share > 0 && next() < share;
  const fault = (what: LinkFault, bytes: Uint8Array): void => options.onFault?.(what, bytes);
  const arrival = (bytes: Uint8Array, withinMs = options.delayMs ?? 0): LinkArrival => {
    const afterMs = Math.floor(next() * withinMs);
    const forged = happens(options.forgery) ? forgery(bytes, next) : undefined;
    if (forged !== undefined) {
      fault("forged", forged);
      return { afterMs, bytes: forged };
    }
    if (!happens(options.corruption)) return { afterMs };
    fault("damaged", bytes);
    return { afterMs, bytes: withOtherByte(bytes, next) };
  };
  return ({ from, bytes }) => {
    const isCutOff = options.isPartitioned?.(from) === true;
    if (isCutOff || happens(options.loss)) {
      fault(isCutOff ? "cut-off" : "lost", bytes);
      return [];
    }
    if (!happens(options.duplication)) return [arrival(bytes)];
    fault("repeated", bytes);
    return [arrival(bytes), arrival(bytes, options.repeatMs)];
  };
}

function withOtherByte(bytes: Uint8Array, next: () => number): Uint8Array {
  const damaged = Uint8Array.from(bytes);
  const at = Math.floor(next() * damaged.length);
  damaged[at] = (damaged[at] ?? 0) ^ (1 + Math.floor(next() * 255));
  return damaged;
}

/** Returns the frame with another byte in its body and a matching checksum; `undefined` if it has no body. */
function forgery(bytes: Uint8Array, next: () => number): Uint8Array | undefined {
  const frame = Buffer.from(bytes);
  const { head, body, sent } = decodeFrame(frame, decodeHeader(frame));
  if (body === undefined || body.length === 0) return undefined;
  return encodeFrame({ head, body: withOtherByte(body, next) }, sent);
}

/** Generates numbers from 0 to 1 (mulberry32, a public-domain generator by Tommy Ettinger). */
function numbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
