import type { Parameters } from "fast-check";

/**
 * Returns the parameters of fast-check for a model. They depend on these environment variables:
 *
 * - `MODEL_RUNS`: the number of histories. Default: `runs`.
 * - `MODEL_MS`: the maximum time, in milliseconds. Default: 50 minutes.
 * - `MODEL_SEED`: the seed of the histories, or `random` for new histories at each run. Default: `seed`.
 * - `MODEL_PATH`: the path of one failure. A failure is reported with its seed and path, which reproduce it.
 * - `MODEL_SHRINK`: if `no`, a failure is reported at once, without a search for a shorter history.
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
