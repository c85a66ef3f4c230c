import type { LinkArrival, LinkFrame } from "../replication/channels/memory-wire.ts";
import { decodeFrame, decodeHeader, encodeFrame } from "../replication/protocol/frame.ts";

/** What goes wrong with a frame on its way. */
export type LinkFault = "lost" | "repeated" | "damaged" | "forged" | "cut-off";

/** How bad a simulated network is. Shares are 0 to 1. */
export interface WeatherOptions {
  readonly seed: number;
  /** Frames that never arrive. */
  readonly loss?: number;
  /** Frames that arrive twice. */
  readonly duplication?: number;
  /** Frames of which a byte is changed on the way. */
  readonly corruption?: number;
  /** Frames in whose lines or contents a byte is changed by somebody who puts the checksum right. */
  readonly forgery?: number;
  /** A frame that arrives twice comes the second time up to so many milliseconds later. Default: as the first time. */
  readonly repeatMs?: number;
  /** Each arrival takes between 0 and so many milliseconds: later frames overtake earlier ones. Default 0. */
  readonly delayMs?: number;
  /** Nothing arrives from this end while it is so; asked for each frame. */
  readonly isPartitioned?: (from: LinkFrame["from"]) => boolean;
  /** Is told what goes wrong. */
  readonly onFault?: (fault: LinkFault, bytes: Uint8Array) => void;
}

/** What becomes of each frame on a simulated network, the same for the same seed: the `deliver` of memory wires. */
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

/** The frame with another byte in its body, and a checksum that fits; `undefined`: it has none. */
function forgery(bytes: Uint8Array, next: () => number): Uint8Array | undefined {
  const frame = Buffer.from(bytes);
  const { head, body, sent } = decodeFrame(frame, decodeHeader(frame));
  if (body === undefined || body.length === 0) return undefined;
  return encodeFrame({ head, body: withOtherByte(body, next) }, sent);
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
