/** A measured value. The report shows the median, the minimum and the maximum of the samples. */
export interface Row {
  readonly what: string;
  readonly unit: string;
  /** One sample for each round, or a single one. */
  readonly samples: readonly number[];
}

/** A ratio or another value that is compared with a promise. */
export interface Ratio {
  readonly what: string;
  /** One sample for each round, or a single one. The median counts. */
  readonly samples: readonly number[];
  /** The bound for the median (`at-least`: minimum, `at-most`: maximum). `undefined`: nothing is promised. */
  readonly target: { readonly kind: "at-least" | "at-most"; readonly value: number } | undefined;
  /** Default: ×. */
  readonly unit?: string;
}

/** The result of a bench. */
export interface Result {
  readonly rows: readonly Row[];
  readonly ratios: readonly Ratio[];
  /** Sentences for below the table. The report makes the first letter a capital, and adds the full stop. */
  readonly notes: readonly string[];
}

/** Converts rows from seconds to milliseconds. */
export function inMilliseconds(rows: readonly Row[]): Row[] {
  return rows.map(({ what, samples }) => ({ what, unit: "ms", samples: samples.map((seconds) => 1000 * seconds) }));
}

/** Returns the median; `NaN` if there are no samples. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** Returns a percentile; `NaN` if there are no samples. `share`: from 0 to 1; 0.5 for the p50. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Returns true if the promise is kept; `undefined` if nothing is promised. */
export function isKept(ratio: Ratio): boolean | undefined {
  if (ratio.target === undefined) return undefined;
  const found = median(ratio.samples);
  return ratio.target.kind === "at-least" ? found >= ratio.target.value : found <= ratio.target.value;
}

/** Returns the ratio of each round: the sample of `a` divided by that of `b`. */
export function ratioInTurn(a: readonly number[], b: readonly number[]): number[] {
  return a.map((value, i) => value / (b[i] ?? Number.NaN));
}
