import { describe, expect, it } from "vitest";
import type { Disk } from "../../src/disk/disk.ts";
import type { SimDisk } from "../../src/disk/sim-disk.ts";
import { SyncSimulation, type Planted } from "./sync-simulation.ts";

/** A seed takes about a second; `SIM_SEEDS=1000` by hand, from `SIM_FIRST` on. */
const SEEDS = Number(process.env["SIM_SEEDS"] ?? 12);
const FIRST = Number(process.env["SIM_FIRST"] ?? 1);
const PLANTED_SEEDS = 40;
/** More than enough for a seed, on a machine that has much else to do. */
const SEED_MS = 15_000;

describe("an origin, its replicas, and everything that goes wrong", () => {
  it(
    `P8, P9, P10, P13: ${SEEDS} seeds: all trees and chains are equal, and nothing is lost or done twice`,
    async () => {
      const failures: string[] = [];
      let [crashes, edits, connections] = [0, 0, 0];
      for (let seed = FIRST; seed < FIRST + SEEDS; seed += 1) {
        const simulation = new SyncSimulation(seed);
        await simulation.run().catch((error: unknown) => failures.push(`seed ${seed}: ${String(error)}`));
        crashes += simulation.crashes;
        edits += simulation.edits;
        connections += simulation.connections;
      }
      expect(failures).toEqual([]);
      // Otherwise nothing was tested.
      expect(crashes).toBeGreaterThan(SEEDS / 2);
      expect(edits).toBeGreaterThan(20 * SEEDS);
      expect(connections).toBeGreaterThan(5 * SEEDS);
    },
    (1 + SEEDS) * SEED_MS,
  );

  it.each<[string, Planted]>([
    ["replicas that answer for what is not durable", { replicaDisk: forgetful }],
    ["an origin that answers for what is not durable", { originDisk: forgetful }],
    ["P13: an edit that is taken for an echo, for the time it was made at", { echoMs: 400 }],
  ])(
    "notices %s",
    async (_, planted) => {
      expect(await firstFailure(planted)).toBeDefined();
    },
    PLANTED_SEEDS * SEED_MS,
  );
});

async function firstFailure(planted: Planted): Promise<unknown> {
  for (let seed = 1; seed <= PLANTED_SEEDS; seed += 1) {
    try {
      await new SyncSimulation(seed, planted).run();
    } catch (error) {
      return error;
    }
  }
  return undefined;
}

/** A disk that says that it has synced a log, and has not. */
function forgetful(disk: SimDisk): Disk {
  const logs = new Set<number>();
  const changed: Partial<Disk> = {
    open: (path, how, mode) => {
      const fd = disk.open(path, how, mode);
      if (path.toString().endsWith(".wal")) logs.add(fd);
      else logs.delete(fd);
      return fd;
    },
    sync: (fd) => (logs.has(fd) ? undefined : disk.sync(fd)),
    syncBeside: (fd) => (logs.has(fd) ? Promise.resolve() : disk.syncBeside(fd)),
    syncAll: () => true,
  };
  return new Proxy<Disk>(disk, {
    get: (target, name) => {
      const member: unknown = Reflect.get(changed, name) ?? Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
