/** The places of the numbers in the memory of a budget. */
const SLOW = 0;
const STOPPED = 1;

interface Limits {
  /** The maximum number of contents for which the pattern may take too long. */
  readonly slow: number;
}

/** What a search may still use. Threads share a budget by making one of the same memory. */
export class SearchBudget {
  readonly #left: Int32Array<SharedArrayBuffer>;

  constructor(memory: SharedArrayBuffer) {
    this.#left = new Int32Array(memory);
  }

  static of({ slow }: Limits): SearchBudget {
    const budget = new SearchBudget(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
    budget.#left.set([slow]);
    return budget;
  }

  get memory(): SharedArrayBuffer {
    return this.#left.buffer;
  }

  /** True if no further content may be searched. */
  get isOver(): boolean {
    return Atomics.load(this.#left, STOPPED) !== 0 || Atomics.load(this.#left, SLOW) <= 0;
  }

  /** Ends the search, as when its time is over. */
  stop(): void {
    Atomics.store(this.#left, STOPPED, 1);
  }

  noteSlow(): void {
    Atomics.sub(this.#left, SLOW, 1);
  }
}
