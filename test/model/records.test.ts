import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StandaloneRecordStoreApi } from "../../src/api/record-api.ts";
import { openFileRecordStore } from "../../src/compose/file-record-store.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { simBackends } from "../../src/testing/sim-store.ts";
import { collected } from "../helpers/record-folder.ts";
import { modelRuns } from "./model-runs.ts";

/**
 * Random histories of a record store in a folder of its own, compared with a plain map. The store is open twice, and
 * power is lost in between.
 */

type Step =
  | { readonly kind: "put"; readonly by: 0 | 1; readonly id: string; readonly value: unknown }
  | { readonly kind: "delete"; readonly by: 0 | 1; readonly id: string }
  | { readonly kind: "many"; readonly by: 0 | 1; readonly count: number }
  | { readonly kind: "migrate" | "compact" | "close"; readonly by: 0 | 1 }
  | { readonly kind: "power-loss"; readonly seed: number }
  | { readonly kind: "lose"; readonly name: "snapshot.json" | "head.json" };

const by = fc.constantFrom(0 as const, 1 as const);
const id = fc.oneof(fc.constantFrom("a", "b", "é", "\u{1F600}", '"\\\n'), fc.string({ minLength: 1, maxLength: 5 }));
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("put" as const), by, id, value: fc.jsonValue({ maxDepth: 2 }) }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), by, id }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("many" as const), by, count: fc.nat(60) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom("migrate" as const, "compact" as const, "close" as const),
      by,
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("power-loss" as const), seed: fc.nat(1_000) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("lose" as const),
      name: fc.constantFrom("snapshot.json" as const, "head.json" as const),
    }),
  },
);

/** One store that is open twice, as in two processes, and the records that must be in it. */
class Machine {
  #disk = SimDisk.fromTree({ "/s": { folder: 0o755 } });
  #ids = 0;
  #stores: StandaloneRecordStoreApi[] = [];
  /** The values by id. They must come back unchanged as JSON, apart from the order of keys. */
  readonly model = new Map<string, unknown>();

  async start(): Promise<void> {
    const backends = {
      ...simBackends(this.#disk, { firstId: 0 }),
      now: () => 1_900_000_000_000 + this.#ids,
      newId: () => `id-${(this.#ids += 1)}`,
    };
    this.#stores = [];
    for (let n = 0; n < 2; n += 1) {
      this.#stores.push(await openFileRecordStore({ folder: "/s/r", waitMs: 1_000 }, backends));
    }
  }

  store(which: number): StandaloneRecordStoreApi {
    const store = this.#stores[which];
    if (store === undefined) throw new Error("not started");
    return store;
  }

  powerLoss(seed: number): Promise<void> {
    this.#disk = this.#disk.crash({ seed });
    return this.start();
  }

  lose(path: string): void {
    if (this.#disk.lstat(path) !== undefined) this.#disk.unlink(path);
  }

  /** Closes both. Returns the number of descriptors that are still open. */
  async close(): Promise<number> {
    for (const store of this.#stores) await store.close();
    return this.#disk.openDescriptors;
  }
}

async function put(machine: Machine, which: 0 | 1, key: string, given: unknown): Promise<void> {
  // The value as JSON returns it: minus zero becomes zero. `__proto__` is replaced, because JSON would not return such
  // a key.
  const value = JSON.parse(JSON.stringify(given).replaceAll("__proto__", "proto")) as never;
  await machine.store(which).upsert(key, { value });
  machine.model.set(key, value);
}

async function act(machine: Machine, done: Step): Promise<void> {
  switch (done.kind) {
    case "put":
      return put(machine, done.by, done.id, done.value);
    case "delete": {
      const event = await machine.store(done.by).delete(done.id);
      expect(event !== undefined).toBe(machine.model.delete(done.id));
      return;
    }
    case "many":
      for (let n = 0; n < done.count; n += 1) await put(machine, done.by, `many${n % 7}`, n);
      return;
    case "migrate": {
      const count = await machine.store(done.by).migrate(({ value = null }) => ({ value: [value, 1] }));
      expect(count).toBe(machine.model.size);
      for (const [key, value] of machine.model) machine.model.set(key, [value, 1]);
      return;
    }
    case "compact":
      await machine.store(done.by).compact();
      return;
    case "close":
      await machine.store(done.by).close();
      return;
    case "power-loss":
      return machine.powerLoss(done.seed);
    case "lose":
      machine.lose(`/s/r/${done.name}`);
  }
}

async function check(machine: Machine): Promise<void> {
  for (const which of [0, 1]) {
    const store = machine.store(which);
    const all = (await store.all()).map(([key, record]) => [key, record["value"]]);
    expect(all).toEqual([...machine.model].sort(([a], [b]) => (a < b ? -1 : 1)));
    const report = await store.verify();
    expect(report.problems).toEqual([]);
    const replayed = new Map<string, unknown>();
    for (const event of await collected(store.replay())) {
      if (event.op === "delete") replayed.delete(event.record_id);
      else replayed.set(event.record_id, event.record["value"]);
    }
    expect(new Map(replayed)).toEqual(machine.model);
  }
}

describe("random histories of records", () => {
  it("agree with a plain map", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const machine = new Machine();
        await machine.start();
        for (const done of steps) await act(machine, done);
        await check(machine);
        expect(await machine.close()).toBe(0);
        await check(machine);
        expect(await machine.close()).toBe(0);
      }),
      modelRuns(60),
    );
  }, 3_600_000);
});
