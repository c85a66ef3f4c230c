import type { BenchContext } from "./bench.ts";
import type { CorpusName } from "./options.ts";
import type { Ratio } from "./result.ts";

/**
 * Returns the target of a promise about a share of another tool's time. `limits`: the largest share in each corpus.
 * Returns `undefined` if there is no promise for the present corpus.
 */
export function corpusShare(
  { options }: BenchContext,
  limits: Readonly<Partial<Record<CorpusName, number>>>,
): Ratio["target"] {
  const value = limits[options.corpus];
  return value === undefined ? undefined : { kind: "at-most", value };
}
