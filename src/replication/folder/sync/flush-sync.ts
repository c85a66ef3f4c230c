import type { ReplicaSession } from "../../replica/replica-session.ts";
import type { Timers } from "../../../util/timers.ts";
import { timeLimit, unlessAborted, type Obstacle, type ConditionWaiters } from "./condition-waiters.ts";

/** The limits of a flush. */
export interface FlushOptions {
  /** Default 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** The parts of a sync that a flush uses. */
export interface Flushed {
  readonly timers: Timers;
  readonly waiting: ConditionWaiters;
  readonly session: () => Pick<ReplicaSession, "barrier"> | undefined;
  readonly isActive: () => boolean;
  /** Throws `REFUSED` if the sync is not under way. */
  readonly refuseIdle: () => void;
  /** Records everything that has been changed in the folder; `unhinted`: also changes without a hint. */
  readonly look: (how: { readonly unhinted: boolean }) => Promise<void>;
  /** Returns the known obstacle, if there is one. */
  readonly obstacle: () => Obstacle;
  /** True if everything up to this event of the origin is applied, and everything of the folder is answered. */
  readonly isQuiet: (sequence: number) => boolean;
}

const FLUSH_MS = 60_000;

/**
 * Resolves once every earlier change on either side is on the other one, or is a conflict. Rejects with `REFUSED` if
 * that takes too long, or the sync is not under way.
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

/** Returns the origin's last event; `undefined` if the connection broke meanwhile, so that it must be asked again. */
async function answerOf(session: Pick<ReplicaSession, "barrier"> | undefined): Promise<number | undefined> {
  return session?.barrier().catch(() => undefined);
}
