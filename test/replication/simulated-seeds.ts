import { describe, expect, it } from "vitest";
import { SyncSimulation } from "./sync-simulation.ts";

/** So many files share the seeds, so that all cores work on them. */
const PARTS = 4;
/** All in all. CI runs 1,000; `SIM_SEEDS=… SIM_FIRST=…` runs others. */
const SEEDS = Number(process.env["SIM_SEEDS"] ?? 100);
const FIRST = Number(process.env["SIM_FIRST"] ?? 1);
/** More than enough for a seed, on a machine that has much else to do. */
const SEED_MS = 15_000;
/** Of more than so many that fail nobody learns anything. */
const MOST_FAILURES = 5;

/** What each seed brings at least, on average: with less than that, little was tried. */
const LEAST = {
  edits: 20,
  crashes: 2,
  jumps: 2,
  connections: 8,
  cut: 4,
  "cut-off": 5,
  lost: 3,
  repeated: 5,
  conflicts: 2,
};
/** The same of what is rare. */
const LEAST_IN_TWENTY = { damaged: 5, forged: 5, "one-way": 5 };

/** Runs one part (1 to 4) of the seeds of the simulation. */
export function testSeeds(part: number): void {
  const seeds = Array.from({ length: SEEDS }, (_, i) => FIRST + i).filter((seed) => seed % PARTS === part % PARTS);
  describe("an origin, its replicas, and everything that goes wrong", () => {
    const test = seeds.length === 0 ? it.skip : it;
    test(
      `P8, P9, P10, P13: ${seeds.length} seeds: all trees and chains are equal, and nothing is lost or done twice`,
      async () => {
        const failures: string[] = [];
        const counts: Record<string, number> = {};
        for (const seed of seeds) {
          const failure = await failureOf(seed, counts);
          if (failure !== undefined) failures.push(failure);
          if (failures.length === MOST_FAILURES) break;
        }
        expect(failures.join("\n")).toBe("");
        if (seeds.length >= 20) expect(tooFew(counts, seeds.length)).toEqual([]);
      },
      (1 + seeds.length) * SEED_MS,
    );
  });
}

/** Why a seed fails, and how to see it again; `undefined`: it does not. */
async function failureOf(seed: number, counts: Record<string, number>): Promise<string | undefined> {
  const simulation = new SyncSimulation(seed);
  try {
    await simulation.run();
    return undefined;
  } catch (error) {
    const again = `SIM_FIRST=${seed} SIM_SEEDS=1 npx vitest run test/replication/simulation`;
    return `seed ${seed}: ${String(error)}\n  again: ${again}`;
  } finally {
    for (const [what, count] of Object.entries(simulation.counts)) counts[what] = (counts[what] ?? 0) + count;
  }
}

/** What has hardly happened. */
function tooFew(counts: Readonly<Record<string, number>>, seeds: number): string[] {
  const least = [
    ...Object.entries(LEAST),
    ...Object.entries(LEAST_IN_TWENTY).map(([what, count]) => [what, count / 20] as const),
  ];
  return least.flatMap(([what, count]) => {
    const found = counts[what] ?? 0;
    return found < count * seeds ? [`${what}: ${found} in ${seeds} seeds`] : [];
  });
}
