/** The seconds, milliseconds, MiB … of one tool, over all rounds. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  readonly samples: readonly number[];
}

/** A promise in numbers. `samples` are taken in turn, one per round, and the median counts. */
export interface Ratio {
  readonly what: string;
  readonly samples: readonly number[];
  /** `at-least`: the promise is kept when the median is this or more. */
  readonly target: { readonly kind: "at-least" | "at-most"; readonly value: number } | undefined;
  readonly unit?: string;
}

/** The outcome of a bench. */
export interface Result {
  readonly rows: readonly Row[];
  readonly ratios: readonly Ratio[];
  readonly notes: readonly string[];
}

/** The same rows in milliseconds instead of seconds. */
export function inMilliseconds(rows: readonly Row[]): Row[] {
  return rows.map(({ what, samples }) => ({ what, unit: "ms", samples: samples.map((seconds) => 1000 * seconds) }));
}

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** `percentile(samples, 0.5)` is the p50. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

export function isKept(ratio: Ratio): boolean | undefined {
  if (ratio.target === undefined) return undefined;
  const found = median(ratio.samples);
  return ratio.target.kind === "at-least" ? found >= ratio.target.value : found <= ratio.target.value;
}

/** Round by round: a divided by b. */
export function ratioInTurn(a: readonly number[], b: readonly number[]): number[] {
  return a.map((value, i) => value / (b[i] ?? Number.NaN));
}
