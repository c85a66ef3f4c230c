import { describe, expect, it } from "vitest";
import { putBackSteps, type PutBackStep } from "./put-backs.ts";
import { STORM_MS, SyncSimulation, type Planted } from "./sync-simulation.ts";

/** More than enough for a seed, on a machine that has much else to do. */
const SEED_MS = 15_000;
/** Of more than so many that fail nobody learns anything. */
const MOST_FAILURES = 5;

/** Put-backs of a seed at most; each is left out once to see whether it matters. */
const MOST_STEPS = 20;

/** A kind of weather, and how much of it there is. */
interface Kind {
  readonly name: string;
  readonly isHard: boolean;
  /** Are machines put back to an earlier state, and started twice? */
  readonly isPutBack: boolean;
  /** So many files share the seeds, so that all cores work on them. */
  readonly parts: number;
  /** What is in the environment says which seeds are run, instead of these; and how a failing one is run alone. */
  readonly env: { readonly seeds: string; readonly first: string; readonly files: string };
  readonly seeds: number;
  /** What twenty seeds bring at least: with less than that, little was tried. */
  readonly leastInTwenty: Readonly<Record<string, number>>;
}

/** Power, network and clocks. CI runs 150. */
const ORDINARY: Kind = {
  name: "an origin, its replicas, and everything that goes wrong",
  isHard: false,
  isPutBack: false,
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
  isPutBack: false,
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
    settled: 4,
    conflicts: 10,
  },
};

/** Ordinary weather, and whole machines, stores or folders that are put back to an earlier state, or run twice. CI runs 150. */
const PUT_BACK: Kind = {
  name: "an origin and replicas that are put back to an earlier state, copied, and run twice",
  isHard: false,
  isPutBack: true,
  parts: 4,
  env: { seeds: "PUT_BACK_SEEDS", first: "PUT_BACK_FIRST", files: "put-back" },
  seeds: 60,
  leastInTwenty: {
    edits: 300,
    crashes: 30,
    connections: 160,
    copied: 40,
    "put-back": 20,
    cloned: 4,
    swapped: 4,
    adopted: 8,
    "origin-put-back": 2,
    conflicts: 20,
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

/** Runs one part (1 to 4) of its seeds with machines that are put back. */
export function testPutBackSeeds(part: number): void {
  testPart(PUT_BACK, part);
}

function testPart(kind: Kind, part: number): void {
  const count = Number(process.env[kind.env.seeds] ?? kind.seeds);
  const first = Number(process.env[kind.env.first] ?? 1);
  const all = Array.from({ length: count }, (_, i) => first + i);
  // What happens in a seed may depend on its remainder by four (`putBackSteps`): each part has all remainders.
  const turnOf = (seed: number): number => (kind.isPutBack ? Math.floor(seed / 4) : seed);
  const seeds = all.filter((seed) => turnOf(seed) % kind.parts === part % kind.parts);
  describe(kind.name, () => {
    const test = seeds.length === 0 ? it.skip : it;
    test(
      `P8, P9, P10, P13: ${seeds.length} seeds: all trees and chains are equal, and nothing is lost or done twice`,
      async () => {
        const failures: string[] = [];
        const counts: Record<string, number> = {};
        for (const seed of seeds) {
          const failure = await failureOf(kind, seed, { counts, isFirst: failures.length === 0 });
          if (failure !== undefined) failures.push(failure);
          if (failures.length === MOST_FAILURES) break;
        }
        expect(failures.join("\n")).toBe("");
        if (seeds.length >= 20) expect(tooFew(kind, counts, seeds.length)).toEqual([]);
      },
      (1 + seeds.length + (kind.isPutBack ? MOST_STEPS : 0)) * SEED_MS,
    );
  });
}

/** Why a seed fails, how to see it again, and (of the first) with which of its put-backs it does; `undefined`: it does not fail. */
async function failureOf(
  kind: Kind,
  seed: number,
  { counts, isFirst }: { readonly counts: Record<string, number>; readonly isFirst: boolean },
): Promise<string | undefined> {
  const { env, isPutBack } = kind;
  const steps = isPutBack ? putBackSteps(seed, STORM_MS) : undefined;
  const { failure, counts: more } = await runOnce(kind, seed, steps);
  for (const [what, count] of Object.entries(more)) counts[what] = (counts[what] ?? 0) + count;
  if (failure === undefined) return undefined;
  const again = `${env.first}=${seed} ${env.seeds}=1 npx vitest run test/replication/${env.files}`;
  const fewest =
    steps === undefined || !isFirst ? "" : `\n  with: ${(await shrunk(kind, seed, steps)).map(shown).join(", ")}`;
  return `seed ${seed}: ${failure}\n  again: ${again}${fewest}`;
}

async function runOnce(
  { isHard }: Kind,
  seed: number,
  putBacks: Planted["putBacks"],
): Promise<{ readonly failure: string | undefined; readonly counts: Readonly<Record<string, number>> }> {
  const simulation = new SyncSimulation(seed, { isHard, ...(putBacks === undefined ? {} : { putBacks }) });
  try {
    await simulation.run();
    return { failure: undefined, counts: simulation.counts };
  } catch (error) {
    return { failure: String(error), counts: simulation.counts };
  }
}

/** The steps, without those that it fails without as well: each is left out once. */
async function shrunk(kind: Kind, seed: number, steps: readonly PutBackStep[]): Promise<readonly PutBackStep[]> {
  let kept = steps;
  for (const one of steps) {
    const fewer = kept.filter((step) => step !== one);
    if ((await runOnce(kind, seed, fewer)).failure !== undefined) kept = fewer;
  }
  return kept;
}

function shown({ at, what, node, part }: PutBackStep): string {
  return `${at} ms: ${what} ${part} of ${node}`;
}

/** What has hardly happened. */
function tooFew({ leastInTwenty }: Kind, counts: Readonly<Record<string, number>>, seeds: number): string[] {
  return Object.entries(leastInTwenty).flatMap(([what, count]) => {
    const found = counts[what] ?? 0;
    return found < (count / 20) * seeds ? [`${what}: ${found} in ${seeds} seeds`] : [];
  });
}
