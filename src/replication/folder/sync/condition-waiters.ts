import { ChronicleError } from "../../../core/values/errors.ts";
import type { Timers } from "../../../util/timers.ts";

interface Waiter {
  readonly isThere: () => boolean;
  readonly resolve: () => void;
}

/** Callers that wait for a condition. */
export class ConditionWaiters {
  readonly #waiters = new Set<Waiter>();

  /** Rechecks all conditions, after a change. */
  look(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isThere()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }

  /** Resolves once the condition holds; rejects with the signal's reason. */
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
 * Resolves to the result of `work`. Rejects with the signal's reason if that aborts before; the work then goes on
 * unobserved.
 */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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

/** The reason, for people, that keeps a sync from coming to rest, and what to do about it. */
export interface Obstacle {
  readonly why?: string | undefined;
  readonly hint?: string | undefined;
}

/** Returns a signal that aborts after `ms`, or with `outer`. Dispose of it to stop both. */
export function timeLimit(
  timers: Timers,
  ms: number,
  { outer, obstacle }: { readonly outer: AbortSignal | undefined; readonly obstacle: () => Obstacle },
): Disposable & { readonly signal: AbortSignal } {
  const inner = new AbortController();
  const timer = timers.after(ms, () => {
    const { why, hint = "`chronicle sync status` says how far it is; give it longer with --timeout" } = obstacle();
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
