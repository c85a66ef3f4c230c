import type { ReplicaSession } from "../../replica/replica-session.ts";
import type { Timers } from "../../../util/timers.ts";
import { timeLimit, unlessAborted, type Obstacle, type ConditionWaiters } from "./condition-waiters.ts";

/** How long a flush may take. */
export interface FlushOptions {
  /** Default 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What of a sync a flush asks. */
export interface Flushed {
  readonly timers: Timers;
  readonly waiting: ConditionWaiters;
  readonly session: () => Pick<ReplicaSession, "barrier"> | undefined;
  readonly isActive: () => boolean;
  /** Throws `REFUSED` where it is not under way. */
  readonly refuseIdle: () => void;
  /** Records everything that has been changed in the folder; `unhinted`: also what nobody was told of. */
  readonly look: (how: { readonly unhinted: boolean }) => Promise<void>;
  /** What is known to stand in the way, if anything is. */
  readonly obstacle: () => Obstacle;
  /** Is everything up to this event of the origin applied, and everything of the folder answered? */
  readonly isQuiet: (sequence: number) => boolean;
}

const FLUSH_MS = 60_000;

/**
 * Resolves once everything that was changed on either side before is on the other one, or is a conflict. Rejects with
 * `REFUSED` where that takes too long, or the sync is not under way.
 */
export async function flushSync(sync: Flushed, { timeoutMs = FLUSH_MS, signal }: FlushOptions): Promise<void> {
  using limit = timeLimit(sync.timers, timeoutMs, { outer: signal, obstacle: sync.obstacle });
  for (let [isQuiet, unhinted] = [false, true]; !isQuiet; unhinted = false) {
    sync.refuseIdle();
    await unlessAborted(sync.look({ unhinted }), limit.signal);
    await sync.waiting.until(() => !sync.isActive() || sync.session() !== undefined, limit.signal);
    sync.refuseIdle();
    const there = await unlessAborted(answerOf(sync.session()), limit.signal);
    if (there === undefined) continue;
    await sync.waiting.until(() => !sync.isActive() || sync.isQuiet(there), limit.signal);
    isQuiet = sync.isQuiet(there);
  }
}

/** How far the origin is; `undefined`: the connection broke meanwhile, and it is to be asked again. */
async function answerOf(session: Pick<ReplicaSession, "barrier"> | undefined): Promise<number | undefined> {
  return session?.barrier().catch(() => undefined);
}
