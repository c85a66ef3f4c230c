import { parseArgs } from "node:util";

const CORPORA = ["S", "M", "L", "R"] as const;

/**
 * The corpus of a bench: S ≈ 7,000 files / 40 MB, M ≈ 51,000 / 613 MB, L ≈ four times M. R: a git repository with 20
 * commits of ≈ 2,300 files.
 */
export type CorpusName = (typeof CORPORA)[number];

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

const USAGE = `npm run bench -- [NAME…] [--corpus S|M|L|R] [--rounds N] [--scratch DIR] [--json] [--list]

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
  const corpus = CORPORA.find((name) => name === values.corpus);
  if (corpus === undefined) throw new Error(`no such corpus: ${values.corpus}\n\n${USAGE}`);
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`not a number of rounds: ${values.rounds}\n\n${USAGE}`);
  return { names: positionals, corpus, rounds, json: values.json, list: values.list, scratch: values.scratch };
}
