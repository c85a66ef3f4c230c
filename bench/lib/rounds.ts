import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { BenchContext } from "./bench.ts";
import { timeCommands, type Command } from "./command.ts";
import { corpusFolder } from "./corpus.ts";
import type { Row } from "./result.ts";
import type { Kept, Tool } from "./tool.ts";

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

/** Returns a context with five times as many rounds, for commands that take only some hundredths of a second. */
export function manyRounds(context: BenchContext): BenchContext {
  return { ...context, options: { ...context.options, rounds: 5 * context.options.rounds } };
}

/**
 * The time for which a new copy of the corpus is left unchanged, in milliseconds. If a file was changed just before a
 * capture, the next capture reads the file again, because a second change within the same tick of the clock would not
 * change the file's time. git does the same. The trees of users have usually been unchanged for longer than this.
 */
const STAND_STILL_MS = 2_500;

/**
 * Copies the corpus into a new folder of the scratch, and waits for `STAND_STILL_MS`. The files of the copy are then in
 * the page cache. Returns the path of the copy.
 */
export function copyOfCorpus(context: BenchContext, name: string): string {
  const tree = join(context.scratch.fresh(name), "tree");
  const copied = spawnSync("cp", ["-a", corpusFolder(context.options.corpus), tree], { encoding: "utf8" });
  if (copied.status !== 0) throw new Error(`could not copy the corpus: ${copied.stderr}`);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STAND_STILL_MS);
  return tree;
}

/** Like `copyOfCorpus`, but all files look as if they were written at this moment, as after a checkout. */
export function freshCopyOfCorpus(context: BenchContext, name: string): string {
  const tree = copyOfCorpus(context, name);
  const touched = spawnSync("find", [tree, "-type", "f", "-exec", "touch", "{}", "+"], { encoding: "utf8" });
  if (touched.status !== 0) throw new Error(`could not touch the files: ${touched.stderr}`);
  return tree;
}

/** Makes a copy of the corpus for a tool, and has the tool record it. */
export function recorded(context: BenchContext, tool: Tool): Kept {
  context.say(`preparing ${tool.name}`);
  const kept = tool.begin(copyOfCorpus(context, `${tool.name}-tree`), context.scratch.fresh(`${tool.name}-store`));
  timeCommands(kept.record());
  return kept;
}
