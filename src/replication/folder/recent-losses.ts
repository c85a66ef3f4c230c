import type { Timers } from "../timers.ts";
import { isMuch } from "./guards.ts";
import type { Losses } from "./weigh-losses.ts";

type Lost = Pick<Losses, "local" | "upstream">;

/** How long a deletion is remembered, to see with others that it was a large one. */
const MEMORY_MS = 10_000;

/** So many entries may go without anybody waiting for more of them. */
const FEW = 3;
/** So often what may become a large deletion, and is none yet, is waited for: then it is somebody who deletes all the time. */
const MOST_WAITS = 10;

/** Remembers what was deleted a moment ago: a large deletion is seen in several pieces. */
export class RecentLosses {
  readonly #timers: Timers;
  #recent: Lost = { local: 0, upstream: 0 };
  #last: Lost = { local: 0, upstream: 0 };
  #waits = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** What was carried on a moment ago, on each side. */
  get recent(): Lost {
    return this.#recent;
  }

  /**
   * May this be the beginning of a large deletion: are more than a few entries gone, and more than when this was last asked?
   * Then it is waited until no more go.
   */
  isRestless({ local, upstream }: Lost): boolean {
    const lost = { local: local + this.#recent.local, upstream: upstream + this.#recent.upstream };
    const isMore = lost.local > this.#last.local || lost.upstream > this.#last.upstream;
    this.#last = lost;
    const most = Math.max(local === 0 ? 0 : lost.local, upstream === 0 ? 0 : lost.upstream);
    const isRestless = isMore && (isMuch(most) || (most > FEW && this.#waits < MOST_WAITS));
    this.#waits = isRestless ? this.#waits + 1 : 0;
    return isRestless;
  }

  /** These were carried on. */
  note({ local, upstream }: Lost): void {
    if (local + upstream === 0) return;
    const add = (sign: 1 | -1): void => {
      this.#recent = { local: this.#recent.local + sign * local, upstream: this.#recent.upstream + sign * upstream };
    };
    add(1);
    this.#timers.after(MEMORY_MS, () => add(-1));
  }
}
