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

/** One promise about speed, memory or space, and how it is measured. */
export interface Bench {
  readonly name: string;
  /** The promise in words, for `--list` and the heading of the report. */
  readonly promise: string;
  run(context: BenchContext): Promise<Result> | Result;
}
