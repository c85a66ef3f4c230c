import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";

/** Characters of lines that are kept in memory. */
const MOST_CHARACTERS = 256 * 1024;

/**
 * The last events that this process has recorded. Readers that follow the log closely mostly want these, and need not
 * read them from the disk to which they were just written.
 */
export class RecentEvents {
  #events: SealedEvent[] = [];
  #characters = 0;
  #head: Head = EMPTY_HEAD;

  /** The last event that was ever added. */
  get head(): Head {
    return this.#head;
  }

  /** Adds durable events, in order. If one does not follow the last one, only the new ones are kept. */
  add(events: readonly SealedEvent[]): void {
    for (const event of events) {
      if (event.seq <= this.#head.seq) continue;
      if (event.prevHash !== this.#head.hash) this.#forget();
      this.#head = { seq: event.seq, hash: event.hash };
      this.#events.push(event);
      this.#characters += event.line.length;
    }
    if (this.#characters > MOST_CHARACTERS) this.#forget(this.#lastOnes());
  }

  /**
   * Returns the events after one, at least one and about this many characters of them; none if the next event is not
   * kept.
   */
  after(last: Head, maxCharacters: number): readonly SealedEvent[] {
    const [first] = this.#events;
    if (first === undefined || last.seq < first.seq - 1) return [];
    const from = last.seq - first.seq + 1;
    if (this.#events[from]?.prevHash !== last.hash) return [];
    let characters = 0;
    const end = this.#events.findIndex((event, at) => {
      if (at >= from) characters += event.line.length;
      return at > from && characters > maxCharacters;
    });
    return this.#events.slice(from, end < 0 ? undefined : end);
  }

  /** Returns half of what may be kept: shortening the array for each event would move it for each event. */
  #lastOnes(): SealedEvent[] {
    let characters = 0;
    const from = this.#events.findLastIndex(({ line }) => (characters += line.length) > MOST_CHARACTERS / 2);
    return this.#events.slice(from + 1);
  }

  #forget(kept: SealedEvent[] = []): void {
    this.#events = kept;
    this.#characters = kept.reduce((sum, { line }) => sum + line.length, 0);
  }
}
