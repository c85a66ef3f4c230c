/** An answer is shared for at most this time, in milliseconds, because it also says what is going on at present. */
const LONGEST_MS = 2_000;
/** The maximum number of answers that are kept. */
const MOST = 32;

interface Kept<T> {
  /** The answer includes at least this event. */
  seq: number;
  readonly at: number;
  readonly answer: Promise<T>;
}

/**
 * Answers that several callers get, because each has said that an answer up to some event is enough. Many pages that
 * show the same history ask for the same after each change. An answer is shared while it is being made, too.
 */
export class SharedAnswers<T extends { readonly seq: number }> {
  readonly #kept = new Map<string, Kept<T>>();

  /** Returns a kept answer that includes event `seq`, or makes one. A log with event `seq` must be open. */
  of(key: string, seq: number, make: () => Promise<T>): Promise<T> {
    const known = this.#kept.get(key);
    if (known !== undefined && known.seq >= seq && performance.now() - known.at <= LONGEST_MS) return known.answer;
    const kept: Kept<T> = { seq, at: performance.now(), answer: make() };
    this.#kept.delete(key);
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST && oldest !== undefined) this.#kept.delete(oldest);
    kept.answer.then(
      (answer) => (kept.seq = answer.seq),
      () => this.#kept.get(key) === kept && this.#kept.delete(key),
    );
    return kept.answer;
  }
}
