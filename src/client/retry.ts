import { ChronicleError } from "../core/values/errors.ts";

/** How often, and how long, it is tried again. Milliseconds. */
export interface RetryRule {
  /** How often in all. */
  readonly tries: number;
  readonly firstWait: number;
  readonly longestWait: number;
  /** Whoever has waited so long already, in all, is told (default: 20 s). */
  readonly longestInAll?: number;
}

export const RETRY: RetryRule = { tries: 5, firstWait: 100, longestWait: 5_000 };

/** A server that waits for a lock itself is not waited for five times. */
const LONG_ENOUGH_MS = 20_000;

/** What passes: nobody answers, too much was asked, somebody else is at work. Nothing was done then, or it is said again by its key. */
const PASSING: readonly string[] = ["UNAVAILABLE", "RATE_LIMITED", "LOCKED"];

/** May it go well another time? */
export function isPassing(error: unknown): boolean {
  return error instanceof ChronicleError && PASSING.includes(error.code) && error.data["lasting"] !== true;
}

/** How long to wait before the next try: longer each time, and not everybody at once. */
export function waitOf(tried: number, { firstWait, longestWait }: RetryRule): number {
  return Math.min(firstWait * 2 ** (tried - 1), longestWait) * (0.5 + Math.random() / 2);
}

/** Waits, or until `signal` says to stop. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const stop = (): void => resolve();
  signal?.addEventListener("abort", stop, { once: true });
  await promise;
  clearTimeout(timer);
  // Whoever follows for months waits often.
  signal?.removeEventListener("abort", stop);
}

/** Does it again while what stops it passes. `after` names a wait that whoever answered has asked for. */
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
