import { ChronicleError } from "../values/errors.ts";

/** The indexes of a budget's numbers in its shared memory. */
const SLOW = 0;
const BYTES = 1;
const STOPPED = 2;

interface Limits {
  /**
   * The maximum number of contents whose search is given up because it takes too long. Once this number is reached, the
   * whole search ends.
   */
  readonly slow: number;
  /** The maximum memory of the lines that are held at once, in bytes. This maximum must be below 2 GiB. */
  readonly bytes: number;
}

/**
 * The memory and the number of slow contents that a search may still use. Threads share a budget through its shared
 * memory (`memory`).
 */
export class SearchBudget {
  readonly #left: Int32Array<SharedArrayBuffer>;

  constructor(memory: SharedArrayBuffer) {
    this.#left = new Int32Array(memory);
  }

  static of({ slow, bytes }: Limits): SearchBudget {
    const budget = new SearchBudget(new SharedArrayBuffer(3 * Int32Array.BYTES_PER_ELEMENT));
    budget.#left.set([slow, bytes]);
    return budget;
  }

  get memory(): SharedArrayBuffer {
    return this.#left.buffer;
  }

  /** True if no further content may be searched. */
  get isOver(): boolean {
    return Atomics.load(this.#left, STOPPED) !== 0 || Atomics.load(this.#left, SLOW) <= 0;
  }

  /** Ends the search, for example when its time is over. */
  stop(): void {
    Atomics.store(this.#left, STOPPED, 1);
  }

  noteSlow(): void {
    Atomics.sub(this.#left, SLOW, 1);
  }

  /** Subtracts the memory of a line from the budget. Throws `LIMIT_EXCEEDED` if the budget has less memory left. */
  take(bytes: number): void {
    if (Atomics.sub(this.#left, BYTES, bytes) < bytes) throw tooManyLines();
  }

  giveBack(bytes: number): void {
    Atomics.add(this.#left, BYTES, bytes);
  }
}

/** Returns the error for a search with more matching lines than may be held in memory. */
export function tooManyLines(): ChronicleError {
  return new ChronicleError("LIMIT_EXCEEDED", "more lines match than can be held in memory", {
    hint: "give a longer pattern or a path, or ask for the files only (-l)",
  });
}
