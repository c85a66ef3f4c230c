import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { BenchContext } from "./bench.ts";
import { timeCommands, type Command } from "./command.ts";
import { corpusFolder } from "./corpus.ts";
import type { Row } from "./result.ts";
import type { Kept, Tool } from "./tool.ts";

/** One side of a comparison: `prepare` makes ready (not timed) and gives the commands to time. */
export interface Side {
  readonly name: string;
  prepare(round: number): Command[];
  /** After the clock was stopped: checks that the work was done. */
  check?(round: number): void;
}

/**
 * Takes the sides in turn (A B A B …), as often as asked for, and gives one row of seconds for each. The order turns
 * round in every second round, and everything is on disk before the clock starts.
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

/** For commands that take some hundredths of a second: five times as many rounds. */
export function manyRounds(context: BenchContext): BenchContext {
  return { ...context, options: { ...context.options, rounds: 5 * context.options.rounds } };
}

/**
 * A file that was changed within the last moments is read again by the next capture (git does alike), because a change
 * within one tick of the clock does not show. A tree that people work in has stood still for longer than that.
 */
const STAND_STILL_MS = 2_500;

/** A copy of the corpus on the scratch, with its pages in memory. */
export function copyOfCorpus(context: BenchContext, name: string): string {
  const tree = join(context.scratch.fresh(name), "tree");
  const copied = spawnSync("cp", ["-a", corpusFolder(context.options.corpus), tree], { encoding: "utf8" });
  if (copied.status !== 0) throw new Error(`could not copy the corpus: ${copied.stderr}`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STAND_STILL_MS);
  return tree;
}

/** A copy of the corpus that looks as if it had been checked out a moment ago. */
export function freshCopyOfCorpus(context: BenchContext, name: string): string {
  const tree = copyOfCorpus(context, name);
  const touched = spawnSync("find", [tree, "-type", "f", "-exec", "touch", "{}", "+"], { encoding: "utf8" });
  if (touched.status !== 0) throw new Error(`could not touch the files: ${touched.stderr}`);
  return tree;
}

/** A tool with a copy of the corpus of its own, recorded once. */
export function recorded(context: BenchContext, tool: Tool): Kept {
  context.say(`preparing ${tool.name}`);
  const kept = tool.begin(copyOfCorpus(context, `${tool.name}-tree`), context.scratch.fresh(`${tool.name}-store`));
  timeCommands(kept.record());
  return kept;
}
