/** The maximum time, in milliseconds, for which an answer is shared. Answers also report work that is going on now. */
const LONGEST_MS = 2_000;
/** The maximum number of kept answers. */
const MOST = 32;

interface Kept<T> {
  /** The seq of an event that the answer includes. Before the answer is made: the seq that its caller asked for. */
  seq: number;
  readonly at: number;
  readonly answer: Promise<T>;
}

/**
 * A cache of answers about a history. After a change, all pages that show the history ask the same question, and each
 * says which event the answer must include. They then share one answer, even while it is still being made.
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
