import { ChronicleError } from "../../../core/values/errors.ts";
import type { Timers } from "../../../util/timers.ts";
import type { ReplicaSession } from "../../replica/replica-session.ts";

interface Waiter {
  readonly isThere: () => boolean;
  readonly resolve: () => void;
}

/** Waits until conditions are true. The owner must call `look` after each change that can make a condition true. */
export class ConditionWaiters {
  readonly #waiters = new Set<Waiter>();

  /** Must be called after a change. Resolves the waits whose condition is now true. */
  look(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isThere()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** Resolves once the condition is true. Rejects with the signal's reason if the signal aborts first. */
  async until(isThere: () => boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (isThere()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { isThere, resolve };
    this.#waiters.add(waiter);
    try {
      await unlessAborted(promise, signal);
    } finally {
      this.#waiters.delete(waiter);
    }
  }
}

/**
 * Awaits the work. If the signal aborts first, rejects with the signal's reason. The work then continues, but its
 * result is ignored.
 */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const leave = (): void => reject(signal.reason as Error);
  signal.addEventListener("abort", leave, { once: true });
  if (signal.aborted) leave();
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** The reason, in words, why a sync still has work to do (`why`), and what a person can do about it (`hint`). */
interface Obstacle {
  readonly why?: string | undefined;
  readonly hint?: string | undefined;
}

/**
 * Returns a signal that aborts after `ms` milliseconds, or when `outer` aborts. Disposal stops the timer and removes
 * the listener from `outer`.
 */
function timeLimit(
  timers: Timers,
  ms: number,
  { outer, obstacle }: { readonly outer: AbortSignal | undefined; readonly obstacle: () => Obstacle },
): Disposable & { readonly signal: AbortSignal } {
  const inner = new AbortController();
  const timer = timers.after(ms, () => {
    const { why, hint = "`chronicle sync status` says how far the sync is; wait longer with --timeout" } = obstacle();
    const because = why === undefined ? "" : `: ${why}`;
    inner.abort(new ChronicleError("REFUSED", `the sync did not come to rest within ${ms} ms${because}`, { hint }));
  });
  const pass = (): void => inner.abort(outer?.reason);
  if (outer?.aborted === true) pass();
  outer?.addEventListener("abort", pass, { once: true });
  return {
    signal: inner.signal,
    [Symbol.dispose]: () => {
      timer[Symbol.dispose]();
      outer?.removeEventListener("abort", pass);
    },
  };
}

export interface FlushOptions {
  /** The maximum time to wait, in ms. Default 60,000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface Flushed {
  readonly timers: Timers;
  readonly waiting: ConditionWaiters;
  readonly session: () => Pick<ReplicaSession, "barrier"> | undefined;
  readonly isActive: () => boolean;
  /** Throws `REFUSED` if the sync is not running. */
  readonly refuseIdle: () => void;
  /** Scans the paths of the folder that the watcher has reported. If `unhinted` is true, also scans all other paths. */
  readonly look: (how: { readonly unhinted: boolean }) => Promise<void>;
  readonly obstacle: () => Obstacle;
  /**
   * True if all events of the origin up to `sequence` are applied to the folder, and the origin has answered all of the
   * folder's changes.
   */
  readonly isQuiet: (sequence: number) => boolean;
}

const FLUSH_MS = 60_000;

/**
 * Resolves once each change that one of the sides made before the call has arrived on the other side, was refused by
 * the origin, or is in conflict. Rejects with `REFUSED` if the wait takes longer than `timeoutMs`, or if the sync is
 * not running. Rejects with the signal's reason if the signal aborts.
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

/**
 * Asks the origin for the seq of its last event. Resolves to `undefined` if there is no connection, or if the
 * connection broke before the answer. The caller must then ask again.
 */
async function answerOf(session: Pick<ReplicaSession, "barrier"> | undefined): Promise<number | undefined> {
  return session?.barrier().catch(() => undefined);
}
