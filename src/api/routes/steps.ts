import type { Progress } from "../workspace-api.ts";

/** One step of work that reports its progress. Steps are numbered from 1. The last step has the result. */
export type Step<Result> =
  | { readonly seq: number; readonly progress: Progress }
  | { readonly seq: number; readonly result: Result };

interface Reporting {
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/** The minimum time between two steps with progress of the same phase and unit, in milliseconds. */
const STEP_MS = 100;

/**
 * Yields the progress of some work, and in the end its result. The work begins when the first step is requested. A
 * consumer that is slower than the work gets only the newest progress of each phase and unit. Throws what the work throws.
 *
 * If `signal` aborts or the consumer stops, the signal of the work aborts, and the generator ends without an error once
 * the work has ended.
 */
export async function* stepsOf<Result>(
  work: (reporting: Reporting) => Promise<Result>,
  signal: AbortSignal,
): AsyncGenerator<Step<Result>, void> {
  const stop = new AbortController();
  const latest = new LatestProgress();
  const reporting = {
    onProgress: (progress: Progress) => latest.set(progress),
    signal: AbortSignal.any([signal, stop.signal]),
  };
  let isOver = false;
  const end = Promise.allSettled([work(reporting)]).finally(() => {
    isOver = true;
    latest.wake();
  });
  let seq = 0;
  try {
    do {
      await latest.changed;
      for (const progress of latest.take()) yield { seq: (seq += 1), progress };
    } while (!isOver || latest.isNew);
    const [ended] = await end;
    if (ended.status === "fulfilled") yield { seq: seq + 1, result: ended.value };
    else if (!signal.aborted) throw ended.reason;
  } finally {
    stop.abort();
    await end;
  }
}

/**
 * Keeps the newest progress of each phase and unit until it is taken. Skips progress that follows the last one within
 * `STEP_MS`, but not the end of a phase.
 */
class LatestProgress {
  #waiting = Promise.withResolvers<void>();
  readonly #latest = new Map<string, Progress>();
  #before: Progress | undefined;
  #at = Number.NEGATIVE_INFINITY;

  /** Resolves when there is progress to take, and after `wake`. */
  get changed(): Promise<void> {
    return this.#waiting.promise;
  }

  set(progress: Progress): void {
    const now = performance.now();
    if (this.#continues(progress) && now - this.#at < STEP_MS) return;
    this.#at = now;
    this.#before = progress;
    this.#latest.set(`${progress.phase} ${progress.unit}`, progress);
    this.wake();
  }

  get isNew(): boolean {
    return this.#latest.size > 0;
  }

  wake(): void {
    this.#waiting.resolve();
  }

  take(): readonly Progress[] {
    const taken = [...this.#latest.values()];
    this.#latest.clear();
    this.#waiting = Promise.withResolvers<void>();
    return taken;
  }

  /** True if progress is about the same phase as the last one, and not its end. */
  #continues({ phase, unit, done, total }: Progress): boolean {
    return this.#before?.phase === phase && this.#before.unit === unit && (total === 0 || done < total);
  }
}
