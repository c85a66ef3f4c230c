import type { LogEventShape } from "../../api/shapes.ts";

/** The most events that are kept, and their most bytes together; the last event is always kept. */
const MOST_EVENTS = 2_048;
const MOST_BYTES = 2 * 1024 * 1024;

/** The last events of a log, without a gap, for those who follow it closely. */
export class LatestEvents {
  readonly #events: { readonly event: LogEventShape; readonly bytes: number }[] = [];
  #bytes = 0;
  #last: number;

  /** Begins after the event with this seq. */
  constructor(last: number) {
    this.#last = last;
  }

  /** The seq of the last one. */
  get last(): number {
    return this.#last;
  }

  /** Takes the next one; `bytes`: how long its line is. One that is there already is left out. False: there is a gap. */
  push(event: LogEventShape, bytes: number): boolean {
    if (event.seq <= this.#last) return true;
    if (event.seq !== this.#last + 1) return false;
    this.#events.push({ event, bytes });
    this.#bytes += bytes;
    this.#last = event.seq;
    this.#shed();
    return true;
  }

  /** Returns the events after `seq`; `undefined` if some of them are not kept any more. */
  after(seq: number): readonly LogEventShape[] | undefined {
    const kept = this.#events.length;
    const wanted = this.#last - seq;
    if (wanted <= 0) return [];
    return wanted > kept ? undefined : this.#events.slice(kept - wanted).map(({ event }) => event);
  }

  #shed(): void {
    let over = 0;
    while (over < this.#events.length - 1 && (this.#events.length - over > MOST_EVENTS || this.#bytes > MOST_BYTES)) {
      this.#bytes -= this.#events[over]?.bytes ?? 0;
      over += 1;
    }
    if (over > 0) this.#events.splice(0, over);
  }
}
