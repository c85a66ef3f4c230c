import type { BenchContext } from "./bench.ts";
import type { CorpusName } from "./options.ts";
import type { Ratio } from "./result.ts";

/** A promise that holds in some corpora, each with its own limit: at most this share of another tool's time. */
export function corpusShare(
  { options }: BenchContext,
  limits: Readonly<Partial<Record<CorpusName, number>>>,
): Ratio["target"] {
  const value = limits[options.corpus];
  return value === undefined ? undefined : { kind: "at-most", value };
}
