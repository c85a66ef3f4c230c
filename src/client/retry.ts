import { ChronicleError } from "../core/values/errors.ts";

/** The rules for retrying a request. All times are in milliseconds. */
export interface RetryRule {
  /** The maximum number of tries, including the first. */
  readonly tries: number;
  /** The longest wait before the second try. The wait doubles with each further try, up to `longestWait`. */
  readonly firstWait: number;
  /** The longest wait before a try. If the server asks for a longer wait, no further try is made. */
  readonly longestWait: number;
  /** The time after the first try within which further tries begin (default: 20 s). */
  readonly longestInAll?: number;
}

export const RETRY: RetryRule = { tries: 5, firstWait: 100, longestWait: 5_000 };

/** The default of `longestInAll`. The limit is needed, because a server can wait long for a lock in each try. */
const LONG_ENOUGH_MS = 20_000;

/**
 * The codes of temporary failures: no answer, too many requests, a lock. A request that failed in this way can be
 * repeated safely, because either nothing was done, or the idempotency key prevents a second execution.
 */
const PASSING: readonly string[] = ["UNAVAILABLE", "RATE_LIMITED", "LOCKED"];

/** Returns true for a temporary failure. An error with `lasting` in its data is not temporary. */
export function isPassing(error: unknown): boolean {
  return error instanceof ChronicleError && PASSING.includes(error.code) && error.data["lasting"] !== true;
}

/**
 * Returns the wait in ms before the next try. The wait doubles with each try. A random part keeps clients from retrying
 * at the same time.
 */
export function waitOf(tried: number, { firstWait, longestWait }: RetryRule): number {
  return Math.min(firstWait * 2 ** (tried - 1), longestWait) * (0.5 + Math.random() / 2);
}

/** Waits for `ms` milliseconds, or until `signal` aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = (): void => resolve();
  signal?.addEventListener("abort", stop, { once: true });
  await promise;
  clearTimeout(timer);
  // Remove the listener. Otherwise, the signal of a client that follows events for months would collect listeners.
  signal?.removeEventListener("abort", stop);
}

/**
 * Repeats `work` while its failure is temporary and the rule allows another try. `after` returns the wait in ms for
 * which the server has asked. If the server has asked for more than the rule's longest wait, throws the error.
 */
export async function retrying<T>(
  work: () => Promise<T>,
  rule: RetryRule,
  { signal, after }: { readonly signal?: AbortSignal | undefined; readonly after?: () => number | undefined } = {},
): Promise<T> {
  const begun = Date.now();
  const longest = rule.longestInAll ?? LONG_ENOUGH_MS;
  for (let tried = 1; ; tried += 1) {
    try {
      return await work();
    } catch (error) {
      const asked = after?.() ?? 0;
      const isOver = tried >= rule.tries || signal?.aborted === true || Date.now() - begun > longest;
      if (isOver || !isPassing(error) || asked > rule.longestWait) throw error;
      await pause(Math.max(asked, waitOf(tried, rule)), signal);
    }
  }
}
