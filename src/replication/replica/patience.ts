import type { Channel } from "../channel.ts";

/** So many beats without an answer, and without much else that comes: one of the two, question or answer, may have got lost. */
const BEATS = 4;

/** Whoever sends more than this between two beats sends something else than heartbeats: the answer may be on its way. */
const QUIET_BYTES = 4_096;

/** How long an answer is waited for before its question is sent again, in heartbeats. */
export class Patience {
  readonly #channel: Pick<Channel, "arrived">;
  #beats = 0;
  #arrived = 0;

  constructor(channel: Pick<Channel, "arrived">) {
    this.#channel = channel;
  }

  /** An answer has come. */
  heard(): void {
    this.#beats = 0;
  }

  /** A heartbeat has passed. Is it time to ask again? */
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
