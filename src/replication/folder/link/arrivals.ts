/** Where an origin's history is by now. */
export interface ArrivalsOptions {
  /** The last event that is held here. */
  readonly held: () => number;
  /** The last event that the origin has, as far as it has told in this life of the sync; 0: it has told of none. */
  readonly told: () => number;
}

/** So long it waits before it looks again, in ms. */
const LOOK_MS = 100;
/** So many events may be missing without being waited for. */
const FEW = 500;
/** So often it looks: where nothing more has come, and in all. */
const MOST_STILL = 10;
const MOST_LOOKS = 300;

/**
 * Waits for what an origin is known to have, before it is decided what a folder gets. History comes in the order in which it
 * happened, and a moment in the middle of it is nobody's wish: files that were deleted long ago, half of a folder that was renamed.
 * And each decision about a part of very much costs as much as one about all of it.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  /** What is waited for: what the origin had when it was seen that much is missing. */
  #goal: number | undefined;
  #last = 0;
  #still = 0;
  #looks = 0;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  /**
   * So many ms it is to be waited; `undefined`: no longer, and something may be decided before it is waited again. `isFirst`:
   * the folder has got nothing from this origin so far.
   */
  waitFor(isFirst: boolean): number | undefined {
    const { held, told } = this.#options;
    if (this.#goal === undefined && (isFirst ? told() > 0 : told() - held() > FEW)) this.#goal = told();
    // An origin that was put back to an earlier state has no more what it was to be waited for.
    const isWaiting = isFirst
      ? held() < Math.min(this.#goal ?? Infinity, told() || Infinity)
      : held() < (this.#goal ?? 0) && this.#isComing();
    if (isWaiting) return LOOK_MS;
    this.#still = this.#looks = 0;
    if (!isFirst) this.#goal = undefined;
    return undefined;
  }

  /** Other things may be more urgent than what does not come, or comes for ever. */
  #isComing(): boolean {
    const held = this.#options.held();
    this.#still = held > this.#last ? 0 : this.#still + 1;
    this.#last = held;
    this.#looks += 1;
    return this.#still <= MOST_STILL && this.#looks <= MOST_LOOKS;
  }
}
