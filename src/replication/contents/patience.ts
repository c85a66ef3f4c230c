import type { Channel } from "../channel.ts";

/** The number of heartbeats without an answer after which a question is sent again, as one of the two may be lost. */
const BEATS = 4;

/** The number of bytes between two heartbeats above which data is coming, so that the answer may be behind it. */
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
