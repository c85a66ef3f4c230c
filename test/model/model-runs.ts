import type { Parameters } from "fast-check";

/**
 * How a model is run: `MODEL_RUNS` histories (default: `runs`), for `MODEL_MS` at most. They are new ones each time; with
 * `seed` the same ones, unless `MODEL_SEED=random` asks for new ones. A failure is told with its seed and path, for
 * `MODEL_SEED` and `MODEL_PATH`; `MODEL_SHRINK=no` tells it at once.
 */
export function modelRuns<T>(runs: number, seed = "random"): Parameters<T> {
  const { MODEL_RUNS = runs, MODEL_MS = 3_000_000, MODEL_SEED = seed, MODEL_PATH: path, MODEL_SHRINK } = process.env;
  return {
    numRuns: Number(MODEL_RUNS),
    interruptAfterTimeLimit: Number(MODEL_MS),
    ...(MODEL_SEED === "random" ? {} : { seed: Number(MODEL_SEED) }),
    ...(path === undefined ? {} : { path }),
    endOnFailure: MODEL_SHRINK === "no",
  };
}
