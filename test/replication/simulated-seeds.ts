import { describe, expect, it } from "vitest";
import { SyncSimulation } from "./sync-simulation.ts";

/** More than enough for a seed, on a machine that has much else to do. */
const SEED_MS = 15_000;
/** Of more than so many that fail nobody learns anything. */
const MOST_FAILURES = 5;

/** A kind of weather, and how much of it there is. */
interface Kind {
  readonly name: string;
  readonly isHard: boolean;
  /** So many files share the seeds, so that all cores work on them. */
  readonly parts: number;
  /** What is in the environment says which seeds are run, instead of these; and how a failing one is run alone. */
  readonly env: { readonly seeds: string; readonly first: string; readonly files: string };
  readonly seeds: number;
  /** What twenty seeds bring at least: with less than that, little was tried. */
  readonly leastInTwenty: Readonly<Record<string, number>>;
}

/** Power, network and clocks. CI runs 1,000. */
const ORDINARY: Kind = {
  name: "an origin, its replicas, and everything that goes wrong",
  isHard: false,
  parts: 4,
  env: { seeds: "SIM_SEEDS", first: "SIM_FIRST", files: "simulation" },
  seeds: 100,
  leastInTwenty: {
    edits: 400,
    crashes: 40,
    jumps: 40,
    connections: 160,
    cut: 80,
    "cut-off": 100,
    lost: 60,
    repeated: 100,
    conflicts: 40,
    damaged: 5,
    forged: 5,
    "one-way": 5,
  },
};

/** The same in `HardWeather`. */
const HARD: Kind = {
  name: "an origin that is tidied up, replicas with rules of their own, disks that are full, fail or are away",
  isHard: true,
  parts: 2,
  env: { seeds: "HARD_SEEDS", first: "HARD_FIRST", files: "hard" },
  seeds: 40,
  leastInTwenty: {
    edits: 300,
    crashes: 40,
    full: 40,
    "failed-sync": 3,
    away: 40,
    slow: 100,
    compacted: 20,
    dropped: 2,
    pruned: 20,
    paused: 20,
    settled: 1,
    conflicts: 10,
  },
};

/** Runs one part (1 to 4) of the seeds of the simulation. */
export function testSeeds(part: number): void {
  testPart(ORDINARY, part);
}

/** Runs one part (1 or 2) of its seeds in hard weather. */
export function testHardSeeds(part: number): void {
  testPart(HARD, part);
}

function testPart(kind: Kind, part: number): void {
  const count = Number(process.env[kind.env.seeds] ?? kind.seeds);
  const first = Number(process.env[kind.env.first] ?? 1);
  const all = Array.from({ length: count }, (_, i) => first + i);
  const seeds = all.filter((seed) => seed % kind.parts === part % kind.parts);
  describe(kind.name, () => {
    const test = seeds.length === 0 ? it.skip : it;
    test(
      `P8, P9, P10, P13: ${seeds.length} seeds: all trees and chains are equal, and nothing is lost or done twice`,
      async () => {
        const failures: string[] = [];
        const counts: Record<string, number> = {};
        for (const seed of seeds) {
          const failure = await failureOf(kind, seed, counts);
          if (failure !== undefined) failures.push(failure);
          if (failures.length === MOST_FAILURES) break;
        }
        expect(failures.join("\n")).toBe("");
        if (seeds.length >= 20) expect(tooFew(kind, counts, seeds.length)).toEqual([]);
      },
      (1 + seeds.length) * SEED_MS,
    );
  });
}

/** Why a seed fails, and how to see it again; `undefined`: it does not. */
async function failureOf(
  { isHard, env }: Kind,
  seed: number,
  counts: Record<string, number>,
): Promise<string | undefined> {
  const simulation = new SyncSimulation(seed, { isHard });
  try {
    await simulation.run();
    return undefined;
  } catch (error) {
    const again = `${env.first}=${seed} ${env.seeds}=1 npx vitest run test/replication/${env.files}`;
    return `seed ${seed}: ${String(error)}\n  again: ${again}`;
  } finally {
    for (const [what, count] of Object.entries(simulation.counts)) counts[what] = (counts[what] ?? 0) + count;
  }
}

/** What has hardly happened. */
function tooFew({ leastInTwenty }: Kind, counts: Readonly<Record<string, number>>, seeds: number): string[] {
  return Object.entries(leastInTwenty).flatMap(([what, count]) => {
    const found = counts[what] ?? 0;
    return found < (count / 20) * seeds ? [`${what}: ${found} in ${seeds} seeds`] : [];
  });
}
