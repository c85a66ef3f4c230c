import { amountFor, type BenchContext } from "./bench.ts";
import { timeCommands, type Command } from "./command.ts";
import type { Row } from "./result.ts";

/** One side of a comparison. Only the commands are timed. */
export interface Side {
  readonly name: string;
  /** Prepares a round, and returns the commands to time. `round`: its number, from 0. */
  prepare(round: number): Command[];
  /** Called after the commands of a round. Throws if their result is wrong. */
  check?(round: number): void;
}

/**
 * Measures the sides in turn, with the order reversed in every second round (A B, B A, …). Everything is on disk before
 * the commands of a side start. Returns one row for each side, in seconds, with one sample for each round.
 */
export function inTurn(context: BenchContext, sides: readonly Side[]): Row[] {
  const samples = sides.map((): number[] => []);
  for (let round = 0; round < context.options.rounds; round++) {
    const order = sides.map((_, i) => i);
    for (const i of round % 2 === 0 ? order : order.toReversed()) {
      const side = sides[i];
      if (side === undefined) continue;
      const commands = side.prepare(round);
      context.scratch.settle();
      const seconds = timeCommands(commands);
      side.check?.(round);
      samples[i]?.push(seconds);
      context.say(`round ${round + 1}: ${side.name} ${seconds.toFixed(3)} s`);
    }
  }
  return sides.map((side, i) => ({ what: side.name, unit: "s", samples: samples[i] ?? [] }));
}

/** Returns a context with more rounds, for commands that take only some hundredths of a second: five times as many. */
export function manyRounds(context: BenchContext): BenchContext {
  const { rounds } = context.options;
  const many = amountFor(context, { what: "rounds of a short command", all: 5 * rounds, quick: 2 * rounds });
  return { ...context, options: { ...context.options, rounds: many } };
}
