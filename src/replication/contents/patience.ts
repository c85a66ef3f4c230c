import type { Channel } from "../channel.ts";

/** The question is sent again after this number of heartbeats without an answer: the question or its answer may be lost. */
const BEATS = 4;

/** If more than this arrives between two heartbeats, the other side is sending data, and the answer may be behind it. */
const QUIET_BYTES = 4_096;

/** Decides, heartbeat by heartbeat, when a question without an answer is sent again. */
export class Patience {
  readonly #channel: Pick<Channel, "arrived">;
  #beats = 0;
  #arrived = 0;

  constructor(channel: Pick<Channel, "arrived">) {
    this.#channel = channel;
  }

  /** Called when an answer has come. */
  heard(): void {
    this.#beats = 0;
  }

  /** Called with each heartbeat. True if it is time to ask again. */
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
