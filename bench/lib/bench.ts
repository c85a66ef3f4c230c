import type { BenchOptions } from "./options.ts";
import type { Result } from "./result.ts";
import type { Scratch } from "./scratch.ts";

/** What a bench is given. */
export interface BenchContext {
  readonly options: BenchOptions;
  readonly scratch: Scratch;
  /** Says what is going on, on stderr. */
  say(words: string): void;
}

/** One promise about speed, memory or space, and how it is measured. */
export interface Bench {
  readonly name: string;
  /** The promise in words, as in the README. */
  readonly promise: string;
  run(context: BenchContext): Promise<Result> | Result;
}
