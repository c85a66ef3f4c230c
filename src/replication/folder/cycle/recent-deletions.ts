import type { ReplicaHalt } from "../../../core/records/replica-record.ts";
import type { Timers } from "../../../util/timers.ts";
import { isMuch } from "./guards.ts";
import type { Losses, Lost } from "./deletion-guard.ts";

type Counted = Omit<Losses, "halted" | "ignored">;

/**
 * The time a deletion is remembered, so that it counts with later ones as one large deletion. Entries that came within
 * this time do not count as kept.
 */
export const MEMORY_MS = 10_000;

/** So few entries may be the whole deletion: they are waited for only for a moment. */
const FEW = 3;
const MOMENT_MS = 100;
/** More entries may be the beginning of a large deletion: it must be quiet for so long before they go. */
const QUIET_MS = 400;
/** The number of waits for what may become a large deletion. After that, somebody deletes all the time. */
const MOST_WAITS = 10;

/**
 * The number and time of the waits before a large deletion at the origin halts the sync. It may be the first half of a
 * slow rename there, or its entries may be back by now and not have arrived yet.
 */
const MOST_DOUBTS = 5;
const DOUBT_MS = 1_000;

const NONE: Counted = { local: 0, upstream: 0, older: { local: 0, upstream: 0 } };

/** Remembers recent deletions: a large deletion is seen in several pieces. */
export class RecentDeletions {
  readonly #timers: Timers;
  #recent: Counted = NONE;
  /** Deletions of earlier generations are forgotten. */
  #generation = 0;
  #last: Lost = NONE;
  #waits = 0;
  #doubts = 0;

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** The recent deletions that were carried on, on each side. */
  get recent(): Counted {
    return this.#recent;
  }

  /**
   * Returns the milliseconds to wait until no more entries go, or `undefined` to wait no longer. More entries gone than
   * at the last call may be the beginning of a large deletion. `found`: the halt that would follow.
   */
  waitFor(
    { halted, ignored = NONE, ...weighed }: Lost & Partial<Pick<Losses, "halted" | "ignored">>,
    found?: ReplicaHalt,
  ): number | undefined {
    // Ignored paths may be the first piece of a deletion that counts.
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

  /**
   * Notes deletions that were carried on. `isAccepted`: a person knows of them, and of those before, so that none of
   * them counts with the next ones.
   */
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
