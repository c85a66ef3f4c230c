import type { BenchOptions } from "./options.ts";
import type { Result } from "./result.ts";
import type { Scratch } from "./scratch.ts";

/** The input of a bench. */
export interface BenchContext {
  readonly options: BenchOptions;
  readonly scratch: Scratch;
  /** Reports progress on stderr. */
  say(words: string): void;
}

/** One promise about speed, memory or space, and how it is measured. */
export interface Bench {
  readonly name: string;
  /** The promise in words, as in the README. */
  readonly promise: string;
  run(context: BenchContext): Promise<Result> | Result;
}
