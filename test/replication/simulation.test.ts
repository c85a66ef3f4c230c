import { describe, expect, it } from "vitest";
import { SyncSimulation } from "./sync-simulation.ts";

const SEEDS = Number(process.env["SIM_SEEDS"] ?? 40);
const FIRST = Number(process.env["SIM_FIRST"] ?? 1);

describe("an origin, its replicas, and everything that goes wrong", () => {
  it(
    `P8 to P10, P13: ${SEEDS} seeds: all trees and chains are equal, and nothing is lost or done twice`,
    async () => {
      const failures: string[] = [];
      let [crashes, edits] = [0, 0];
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        const simulation = new SyncSimulation(seed);
        await simulation.run().catch((cause: unknown) => {
          failures.push(
            `seed ${seed}: ${cause instanceof Error ? (process.env["SIM_STACK"] ? cause.stack : cause.message) : String(cause)}`,
          );
        });
        crashes += simulation.crashes;
        edits += simulation.edits;
      }
      if (process.env["SIM_STACK"]) console.log(crashes, edits);
      expect(failures).toEqual([]);
      // Otherwise nothing was tested.
      expect(crashes).toBeGreaterThan(SEEDS / 2);
      expect(edits).toBeGreaterThan(20 * SEEDS);
    },
    1_000 + SEEDS * 3_000,
  );
});
