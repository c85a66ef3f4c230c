import type { BenchContext } from "./bench.ts";
import type { CorpusName } from "./options.ts";
import type { Ratio } from "./result.ts";

/**
 * Returns the target of a promise that is not the same in all corpora. `limits`: the largest value in each corpus.
 * Returns `undefined` if there is no promise for the present corpus.
 */
export function corpusTarget(
  { options }: BenchContext,
  limits: Readonly<Partial<Record<CorpusName, number>>>,
): Ratio["target"] {
  const value = limits[options.corpus];
  return value === undefined ? undefined : { kind: "at-most", value };
}
