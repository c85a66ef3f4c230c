/** The result of a test: `unknown` if the test cannot tell, for example because the files do not build. */
export type Verdict = "good" | "bad" | "unknown";

/**
 * The state of a search for the first bad point in an ordered list of points. `next` is the index of the point to test
 * next. `found` is the index of the first bad point. If points right before `found` could not be tested, `from` is the
 * index of the first of these points. The first bad point may then be any point from `from` to `found`. If there are no
 * such points, `from` is equal to `found`.
 */
export type Bisection = { readonly next: number } | { readonly found: number; readonly from: number };

/**
 * Returns the next step of a binary search among `count` points. The last of them is known to be bad, and the point
 * before the first of them is known to be good. `verdicts` maps the index of each tested point to its verdict.
 *
 * If the point in the middle is unknown, the nearest point with no verdict is next. Thus each unknown point costs at
 * most one test.
 */
export function bisect(count: number, verdicts: ReadonlyMap<number, Verdict>): Bisection {
  const { good, bad } = bounds(count, verdicts);
  const middle = Math.floor((good + bad) / 2);
  for (let distance = 0; distance <= bad - good; distance += 1) {
    for (const at of [middle + distance, middle - distance]) {
      if (at > good && at < bad && !verdicts.has(at)) return { next: at };
    }
  }
  return { found: bad, from: good + 1 };
}

/**
 * Returns two indexes: `good` of the last point that is known to be good (-1 if there is none), and `bad` of the first
 * point that is known to be bad.
 */
export function bounds(count: number, verdicts: ReadonlyMap<number, Verdict>): { good: number; bad: number } {
  let good = -1;
  let bad = count - 1;
  for (const [at, verdict] of verdicts) {
    if (verdict === "good") good = Math.max(good, at);
    if (verdict === "bad") bad = Math.min(bad, at);
  }
  return { good, bad };
}

/**
 * Returns the number of tests that a binary search among `count` points needs at most, if every point can be tested.
 */
export function stepsFor(count: number): number {
  return count <= 1 ? 0 : Math.ceil(Math.log2(count));
}
