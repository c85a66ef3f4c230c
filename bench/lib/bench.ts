import type { BenchOptions, CorpusName } from "./options.ts";
import type { Result } from "./result.ts";
import type { Scratch } from "./scratch.ts";
import type { Shared } from "./shared.ts";

/** The options of a run, and the services that a bench uses. */
export interface BenchContext {
  readonly options: BenchOptions;
  readonly scratch: Scratch;
  /** What the benches of the run share. */
  readonly shared: Shared;
  /** What the bench measures less of than a full run, in words: what → how much. The report lists it. */
  readonly shortened: Map<string, string>;
  /** Prints progress to stderr. */
  say(words: string): void;
}

/** An amount that a bench measures, such as a number of events or seconds. */
export interface Amount {
  /** The unit in the plural, for the list of what was shortened. */
  readonly what: string;
  /** The amount of a full run. */
  readonly all: number;
  /** The amount of a quick look. Default: a tenth of `all`, and at least 1. */
  readonly quick?: number;
}

/**
 * Returns how much a bench measures: `all`, or less in a quick look. The report says what was
 * shortened.
 */
export function amountFor({ options, shortened }: BenchContext, { what, all, quick }: Amount): number {
  if (!options.isQuick) return all;
  const amount = Math.min(all, quick ?? Math.max(1, Math.round(all / 10)));
  if (amount < all) shortened.set(what, `${amount} ${what} instead of ${all}`);
  return amount;
}

/** One promise about speed, memory or space, and how it is measured. */
export interface Bench {
  readonly name: string;
  /** The promise in words, for `--list` and the heading of the report. */
  readonly promise: string;
  /** The corpora in which a run with corpus M measures the bench, too. Default: none. */
  readonly beside?: readonly CorpusName[];
  /** True: a quick look leaves the bench out, unless the bench is named. */
  readonly isLong?: true;
  run(context: BenchContext): Promise<Result> | Result;
}
