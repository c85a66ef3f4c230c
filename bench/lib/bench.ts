import type { BenchOptions } from "./options.ts";
import type { Result } from "./result.ts";
import type { Scratch } from "./scratch.ts";

/** The options of a run, and the services that a bench uses. */
export interface BenchContext {
  readonly options: BenchOptions;
  readonly scratch: Scratch;
  /** Prints progress to stderr. */
  say(words: string): void;
}

/**
 * Returns how much a bench measures, such as the number of events or seconds: `all`, or a tenth with corpus S, which is
 * for a quick look. With S, the result is at least `least`.
 */
export function amountFor({ options }: BenchContext, all: number, least = 1): number {
  return options.corpus === "S" ? Math.min(all, Math.max(least, Math.round(all / 10))) : all;
}

/** One promise about speed, memory or space, and how it is measured. */
export interface Bench {
  readonly name: string;
  /** The promise in words, for `--list` and the heading of the report. */
  readonly promise: string;
  run(context: BenchContext): Promise<Result> | Result;
}
