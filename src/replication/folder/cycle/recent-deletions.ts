import type { ReplicaHalt } from "../../../core/records/replica-record.ts";
import type { Timers } from "../../../util/timers.ts";
import { isMuch } from "./guards.ts";
import type { Losses, Lost } from "./deletion-guard.ts";

type Counted = Omit<Losses, "halted" | "ignored">;

/** How long a deletion is remembered, to see with others that it was a large one; what has come since then is no part of what is left. */
export const MEMORY_MS = 10_000;

/** So many entries may be all that goes: more are waited for only for a moment. */
const FEW = 3;
const MOMENT_MS = 100;
/** More than that may be the beginning of a large deletion: so long it is to be quiet before they go. */
const QUIET_MS = 400;
/** So often what may become a large deletion, and is none yet, is waited for: then it is somebody who deletes all the time. */
const MOST_WAITS = 10;

/**
 * What looks like a large deletion at the origin may be the first half of a renaming, of which the other one takes its time there;
 * or be back by now, and not have come: so often it is waited for, so long each time, before that halts anything.
 */
const MOST_DOUBTS = 5;
const DOUBT_MS = 1_000;

const NONE: Counted = { local: 0, upstream: 0, older: { local: 0, upstream: 0 } };

/** Remembers what was deleted a moment ago: a large deletion is seen in several pieces. */
export class RecentDeletions {
  readonly #timers: Timers;
  #recent: Counted = NONE;
  /** Those of before are forgotten. */
  #generation = 0;
  #last: Lost = NONE;
  #waits = 0;
  #doubts = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** What was carried on a moment ago, on each side. */
  get recent(): Counted {
    return this.#recent;
  }

  /**
   * May this be the beginning of a large deletion: are more entries gone than when this was last asked? Then it is waited until
   * no more go: so many milliseconds; `undefined`: no longer. `found`: what would halt the sync.
   */
  waitFor(
    { halted, ignored = NONE, ...weighed }: Lost & Partial<Pick<Losses, "halted" | "ignored">>,
    found?: ReplicaHalt,
  ): number | undefined {
    // What counts for nothing may be the first piece of what counts.
    const { local, upstream } = sum(weighed, ignored, 1);
    const lost = { local: local + this.#recent.local, upstream: upstream + this.#recent.upstream };
    const isMore = lost.local > this.#last.local || lost.upstream > this.#last.upstream;
    this.#last = lost;
    const most = Math.max(local === 0 ? 0 : lost.local, upstream === 0 ? 0 : lost.upstream);
    const isRestless = isMore && most > 0 && (isMuch(most) || this.#waits < MOST_WAITS);
    this.#waits = isRestless ? this.#waits + 1 : 0;
    if (!isRestless) return this.#doubt(found !== undefined && found === halted?.remote);
    return most > FEW ? QUIET_MS : MOMENT_MS;
  }

  /** These were carried on. `isAccepted`: somebody knows of them, and of those before; they are no part of what may come next. */
  note(lost: Counted, isAccepted = false): void {
    if (isAccepted) {
      this.#recent = NONE;
      this.#generation += 1;
      return;
    }
    if (lost.local + lost.upstream === 0) return;
    const generation = this.#generation;
    const add = (sign: 1 | -1): void => {
      this.#recent = { ...sum(this.#recent, lost, sign), older: sum(this.#recent.older, lost.older, sign) };
    };
    add(1);
    this.#timers.after(MEMORY_MS, () => {
      if (this.#generation === generation) add(-1);
    });
  }

  #doubt(isLarge: boolean): number | undefined {
    const isDoubtful = isLarge && this.#doubts < MOST_DOUBTS;
    this.#doubts = isDoubtful ? this.#doubts + 1 : 0;
    return isDoubtful ? DOUBT_MS : undefined;
  }
}

function sum(a: Lost, b: Lost, sign: 1 | -1): Lost {
  return { local: a.local + sign * b.local, upstream: a.upstream + sign * b.upstream };
}
