import { EMPTY_HEAD, type Head, type SealedEvent } from "../../core/values/event.ts";

/** Characters of lines that are kept at hand. */
const MOST_CHARACTERS = 256 * 1024;

/**
 * The last events that this process has recorded. Whoever follows the log closely is mostly after these, and they need not
 * be read from the disk that they were just written to.
 */
export class RecentEvents {
  #events: SealedEvent[] = [];
  #characters = 0;
  #head: Head = EMPTY_HEAD;

  /** The last of all that were ever added. */
  get head(): Head {
    return this.#head;
  }

  /** Takes durable events, in order. What does not go on from the last one is all that is kept then. */
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

  /** Those after an event, at least one and about so many characters of them; none: what follows it is not kept. */
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

  /** Half of what may be kept: whoever shortens an array for each event moves it for each event. */
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
