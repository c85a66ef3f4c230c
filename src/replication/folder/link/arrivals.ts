/** The progress of an origin's history. */
export interface ArrivalsOptions {
  /** Returns the last event that is held here. */
  readonly held: () => number;
  /** Returns the last event of the origin that it has told of in this life of the sync; 0 if it has told of none. */
  readonly told: () => number;
}

/** The time between two checks, in ms. */
const LOOK_MS = 100;
/** The number of missing events that is not worth a wait. */
const FEW = 500;
/** The most checks in a row without progress, and in all. */
const MOST_STILL = 10;
const MOST_LOOKS = 300;

/**
 * Waits for the events that an origin is known to have, before a cycle decides what a folder gets. History arrives in
 * the order in which it happened, and nobody wants a moment in the middle of it: files that were deleted long ago, half
 * of a folder that was renamed. Also, each decision about a part of a large history costs as much as one about all of
 * it.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  /** The event to wait for: the origin's last one when much was found missing. */
  #goal: number | undefined;
  #last = 0;
  #still = 0;
  #looks = 0;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  /**
   * Returns the ms to wait; `undefined`: no longer, and a cycle may run before the next wait. `isFirst`: the folder has
   * got nothing from this origin so far.
   */
  waitFor(isFirst: boolean): number | undefined {
    const { held, told } = this.#options;
    if (this.#goal === undefined && (isFirst ? told() > 0 : told() - held() > FEW)) this.#goal = told();
    // An origin that was put back to an earlier state no longer has the event to wait for.
    const isWaiting = isFirst
      ? held() < Math.min(this.#goal ?? Infinity, told() || Infinity)
      : held() < (this.#goal ?? 0) && this.#isComing();
    if (isWaiting) return LOOK_MS;
    this.#still = this.#looks = 0;
    if (!isFirst) this.#goal = undefined;
    return undefined;
  }

  /** True if more is coming. Gives up on events that do not come, or that never end: other work may be more urgent. */
  #isComing(): boolean {
    const held = this.#options.held();
    this.#still = held > this.#last ? 0 : this.#still + 1;
    this.#last = held;
    this.#looks += 1;
    return this.#still <= MOST_STILL && this.#looks <= MOST_LOOKS;
  }
}
