import { ChronicleError } from "../values/errors.ts";

/** The places of the numbers in the memory of a budget. */
const SLOW = 0;
const BYTES = 1;
const STOPPED = 2;

interface Limits {
  /** The maximum number of contents for which the pattern may take too long. */
  readonly slow: number;
  /** The maximum memory of the lines that are held at once, in bytes; below 2 GiB. */
  readonly bytes: number;
}

/** The memory and the number of slow contents that a search may still use. Threads share a budget by its memory. */
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

  /** Ends the search, as when its time is over. */
  stop(): void {
    Atomics.store(this.#left, STOPPED, 1);
  }

  noteSlow(): void {
    Atomics.sub(this.#left, SLOW, 1);
  }

  /** Takes the memory of a line. Throws `LIMIT_EXCEEDED` if it is not left. */
  take(bytes: number): void {
    if (Atomics.sub(this.#left, BYTES, bytes) < bytes) throw tooManyLines();
  }

  giveBack(bytes: number): void {
    Atomics.add(this.#left, BYTES, bytes);
  }
}

/** The error of a search whose matching lines are more than can be held. */
export function tooManyLines(): ChronicleError {
  return new ChronicleError("LIMIT_EXCEEDED", "more lines match than can be held in memory", {
    hint: "give a longer pattern or a path, or ask for the files only (-l)",
  });
}
