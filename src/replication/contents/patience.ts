import type { Channel } from "../channel.ts";

/**
 * The number of heartbeats after which an unanswered question is repeated, because the question or its answer may be
 * lost.
 */
const BEATS = 4;

/** If more bytes than this arrive between two heartbeats, data is still arriving, and the answer may follow it. */
const QUIET_BYTES = 4_096;

/** Decides at each heartbeat whether an unanswered question is repeated. */
export class Patience {
  readonly #channel: Pick<Channel, "arrived">;
  #beats = 0;
  #arrived = 0;

  constructor(channel: Pick<Channel, "arrived">) {
    this.#channel = channel;
  }

  /** Called when an answer has arrived. */
  heard(): void {
    this.#beats = 0;
  }

  /** Called with each heartbeat. Returns true if it is time to ask again. */
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
