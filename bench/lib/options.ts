import { parseArgs } from "node:util";

const CORPORA = ["S", "M", "L", "R"] as const;

/**
 * The name of a corpus. S: 7,000 files, 39 MB. M: 51,000 files, 607 MB. L: four times M. R: a git repository with 20
 * commits, and 2,300 files in the worktree. All numbers are rounded.
 */
export type CorpusName = (typeof CORPORA)[number];

/** The options of `npm run bench`. */
export interface BenchOptions {
  /** The names of the benches to run. Empty: all benches. */
  readonly names: readonly string[];
  /** Default: M. */
  readonly corpus: CorpusName;
  /** True: a quick look, which measures less. Corpus S is for that. */
  readonly isQuick: boolean;
  /**
   * The number of timed rounds, at least 1. Default: 5. Each round measures every tool once. Some benches have a
   * multiple of this number of rounds, others have a fixed number of samples.
   */
  readonly rounds: number;
  /** True: print the report as JSON. */
  readonly json: boolean;
  /** True: only list the benches. */
  readonly list: boolean;
  /** The folder for trees and stores. `undefined`: a new file system image if possible, otherwise `bench/.cache`. */
  readonly scratch: string | undefined;
}

const USAGE = `npm run bench -- [NAME…] [--corpus S|M|L|R] [--rounds N] [--scratch DIR] [--json] [--list]

Without --scratch, root on Linux measures on a new, journaled ext4 in a loop-mounted image in bench/.cache. The image is
deleted as one file, because on some file systems it is ten times slower to create files soon after a mass delete.`;

/** Parses the command line. Throws for unknown options and wrong values. Does not check the names of the benches. */
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
  const corpus = CORPORA.find((name) => name === values.corpus);
  if (corpus === undefined) throw new Error(`no such corpus: ${values.corpus}\n\n${USAGE}`);
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`not a number of rounds: ${values.rounds}\n\n${USAGE}`);
  const { json, list, scratch } = values;
  return { names: positionals, corpus, isQuick: corpus === "S", rounds, json, list, scratch };
}
