import type { Channel } from "../channel.ts";

/**
 * The number of heartbeats after which an unanswered request is repeated, because the request or its answer may be
 * lost.
 */
const BEATS = 4;

/**
 * If more than this number of bytes arrive between two heartbeats, the peer counts as still sending. The count of
 * heartbeats then restarts.
 */
const QUIET_BYTES = 4_096;

/** Decides when an unanswered request to a peer is repeated. */
export class Patience {
  readonly #channel: Pick<Channel, "arrived">;
  #beats = 0;
  #arrived = 0;

  constructor(channel: Pick<Channel, "arrived">) {
    this.#channel = channel;
  }

  /** Must be called when an answer has arrived. */
  heard(): void {
    this.#beats = 0;
  }

  /** Must be called with each heartbeat. Returns true if it is time to repeat the request. */
  isOver(): boolean {
    const { arrived } = this.#channel;
    const isComing = arrived - this.#arrived > QUIET_BYTES;
    this.#arrived = arrived;
    this.#beats = isComing ? 0 : this.#beats + 1;
    if (this.#beats < BEATS) return false;
    this.#beats = 0;
    return true;
  }
}
