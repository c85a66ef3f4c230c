import { parseArgs } from "node:util";

/** The corpus of a bench: S ≈ 7,000 files / 40 MB, M ≈ 51,000 / 613 MB, L ≈ four times M. */
export type CorpusName = "S" | "M" | "L";

/** The options of `npm run bench`. */
export interface BenchOptions {
  /** Benches by name; empty means all. */
  readonly names: readonly string[];
  readonly corpus: CorpusName;
  /** Timed rounds; each round takes every tool once, in turn. */
  readonly rounds: number;
  readonly json: boolean;
  readonly list: boolean;
  /** The folder for trees and repositories. Undefined: a file system image of its own if possible. */
  readonly scratch: string | undefined;
}

const USAGE = `npm run bench -- [NAME…] [--corpus S|M|L] [--rounds N] [--scratch DIR] [--json] [--list]

Without --scratch and as root on Linux, everything happens on a journaled ext4 in a loop-mounted image in bench/.cache,
because creating files soon after a mass delete is ten times slower on some file systems, and would be measured.`;

/** Reads the command line. Throws for unknown words. */
export function parseBenchOptions(argv: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      corpus: { type: "string", default: "M" },
      rounds: { type: "string", default: "5" },
      scratch: { type: "string" },
      json: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
    },
  });
  const { corpus } = values;
  if (corpus !== "S" && corpus !== "M" && corpus !== "L") throw new Error(`no such corpus: ${corpus}\n\n${USAGE}`);
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`not a number of rounds: ${values.rounds}\n\n${USAGE}`);
  return { names: positionals, corpus, rounds, json: values.json, list: values.list, scratch: values.scratch };
}
