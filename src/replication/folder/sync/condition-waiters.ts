import { ChronicleError } from "../../../core/values/errors.ts";
import type { Timers } from "../../../util/timers.ts";

interface Visitor {
  readonly isThere: () => boolean;
  readonly resolve: () => void;
}

/** Those who wait until something is so. */
export class ConditionWaiters {
  readonly #visitors = new Set<Visitor>();

  /** Something has changed. */
  look(): void {
    for (const visitor of this.#visitors) {
      if (!visitor.isThere()) continue;
      this.#visitors.delete(visitor);
      visitor.resolve();
    }
  }

  /** Resolves once it is so; rejects with the signal's reason. */
  async until(isThere: () => boolean, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (isThere()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const visitor = { isThere, resolve };
    this.#visitors.add(visitor);
    try {
      await unlessAborted(promise, signal);
    } finally {
      this.#visitors.delete(visitor);
    }
  }
}

/** What some work comes to; rejects with the signal's reason where that aborts before: then nobody waits for the work any more. */
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

/** What keeps a sync from coming to rest, for people, and what to do about it. */
export interface Obstacle {
  readonly why?: string | undefined;
  readonly hint?: string | undefined;
}

/** A signal that aborts after a while, or with another one; disposed of, it does so no more. */
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
