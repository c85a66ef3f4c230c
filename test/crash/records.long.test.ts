import { describe, expect, it } from "vitest";
import type { StandaloneRecordStoreApi } from "../../src/api/record-api.ts";
import { openFileRecordStore } from "../../src/compose/file-record-store.ts";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { simBackends } from "../../src/testing/sim-store.ts";
import { type CrashSweep, sweepCrashes, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { collected } from "../helpers/record-folder.ts";

/**
 * A record store on a disk that crashes before, in the middle of and after every operation, with every fate of unsynced
 * data, and with every errno. Afterwards, its events are a prefix of those of the undisturbed run, with every
 * acknowledged event. The store verifies, and the next write, compaction and reopening work.
 */

function newDisk(): SimDisk {
  return SimDisk.fromTree({ "/store": { folder: 0o755 } });
}

async function opened(disk: SimDisk, firstId: number): Promise<StandaloneRecordStoreApi> {
  let ms = Date.parse("2030-01-01T00:00:00Z") + firstId;
  let id = firstId;
  return openFileRecordStore(
    { folder: "/store/records", waitMs: 50 },
    {
      ...simBackends(disk, { firstId }),
      now: () => (ms += 1),
      newId: () => `00000000-0000-4000-8000-${String((id += 1)).padStart(12, "0")}`,
    },
  );
}

async function withStore<T>(
  disk: SimDisk,
  firstId: number,
  work: (store: StandaloneRecordStoreApi) => Promise<T>,
): Promise<T> {
  const store = await opened(disk, firstId);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** Makes a store with 48 records, so that the second write after them makes a checkpoint. */
async function prepared(): Promise<SimDisk> {
  const disk = newDisk();
  await withStore(disk, 0, async (store) => {
    for (let n = 0; n < 48; n += 1) await store.upsert(`k${n % 5}`, { n });
  });
  return disk.crash("keep");
}

/** A seq, and the operation, id and record of its event. */
type Fact = readonly [seq: number, what: string];

async function factsOf(store: StandaloneRecordStoreApi): Promise<Fact[]> {
  const events = await collected(store.replay());
  return events.map(({ seq, op, record_id: id, record }) => [seq, `${op} ${id} ${JSON.stringify(record)}`]);
}

/** Acknowledges every event so far. */
async function tell(store: StandaloneRecordStoreApi, acknowledge: (fact: Fact) => void): Promise<void> {
  for (const fact of await factsOf(store)) acknowledge(fact);
}

let checks = 0;

async function check(disk: SimDisk, context: SweepContext<Fact>, expected: readonly Fact[]): Promise<void> {
  const { error, acknowledged } = context;
  if (errnoOf(error) !== undefined && !(error instanceof ChronicleError)) {
    throw new Error("a bare system error reached the caller", { cause: error });
  }
  await withStore(disk, 500_000, async (store) => {
    expect((await store.verify()).problems).toEqual([]);
    const found = new Map(await factsOf(store));
    for (const [seq, what] of acknowledged) {
      if (found.get(seq) !== what) throw new Error(`event ${seq} (${what}) is ${found.get(seq) ?? "gone"}`);
    }
    // Without an errno, the events have the seqs of the undisturbed run.
    for (const [seq, what] of expected) {
      const one = found.get(seq);
      if (context.mode !== "errno" && one !== undefined && one !== what) throw new Error(`event ${seq} is ${one}`);
    }
    checks += 1;
    if (checks % 4 !== 0) return;
    await store.upsert("next", { n: 1 });
    await store.close();
    expect(await store.get("next")).toEqual({ n: 1 });
    expect(await store.compact()).toBeGreaterThan(0);
    await store.upsert("next", { n: 2 });
    expect((await store.verify()).problems).toEqual([]);
  });
}

const works: Readonly<
  Record<string, (store: StandaloneRecordStoreApi, tellAll: () => Promise<void>) => Promise<void>>
> = {
  "writes across a checkpoint": async (store, tellAll) => {
    for (let n = 0; n < 3; n += 1) {
      await store.upsert(`new${n}`, { n });
      await tellAll();
    }
    await store.delete("k1");
    await tellAll();
  },
  migrate: async (store, tellAll) => {
    await store.migrate((record, id) => ({ ...record, id }));
    await tellAll();
  },
  "compact, twice": async (store, tellAll) => {
    await store.compact();
    await tellAll();
    await store.upsert("between", {});
    await store.compact();
    await tellAll();
  },
};

function sweepOf(name: string, prepare: () => Promise<SimDisk>): Promise<CrashSweep<Fact>> {
  const work = works[name];
  const run: CrashSweep<Fact>["run"] = (disk, acknowledge) =>
    withStore(disk, 1_000, async (store) => work?.(store, () => tell(store, acknowledge)));
  return prepare().then(async (disk) => {
    const clean = disk.fork();
    await run(clean, () => undefined);
    const expected = await withStore(clean, 2_000, factsOf);
    return {
      prepare: () => disk,
      run,
      check: (copy, context) => check(copy, context, expected),
    };
  });
}

describe("crash sweep", () => {
  for (const name of Object.keys(works)) {
    it(name, async () => {
      const { points, runs } = await sweepCrashes(await sweepOf(name, prepared));
      process.stdout.write(`crash sweep of records, ${name}: ${points} points, ${runs} runs\n`);
      expect(points).toBeGreaterThan(5);
    });
  }

  it("the first write to a new store", async () => {
    const { points } = await sweepCrashes<Fact>({
      prepare: newDisk,
      run: (disk, acknowledge) =>
        withStore(disk, 1_000, async (store) => {
          await store.upsert("a", { n: 1 });
          await tell(store, acknowledge);
        }),
      check: (disk, context) => check(disk, context, []),
    });
    expect(points).toBeGreaterThan(5);
  });
});

/** A copy of the disk that fails each operation of this name on this file with an errno. */
function failing(disk: SimDisk, name: string, file: string, errno: string): SimDisk {
  return disk.fork({
    onOperation: (operation) =>
      operation.name === name && String(operation.path).includes(file) ? { errno, lasting: false } : "go",
  });
}

describe("a disk that fails", () => {
  it("fsync failure: the write is refused and has no effect, and the store is poisoned until it is reopened", async () => {
    const disk = await prepared();
    const broken = disk.fork({
      onOperation: (() => {
        let failed = false;
        return (operation) => {
          if (failed || operation.name !== "sync" || !String(operation.path).includes("events.wal")) return "go";
          failed = true;
          return { errno: "EIO", lasting: false };
        };
      })(),
    });
    const store = await opened(broken, 3_000);
    await expect(store.upsert("a", { n: 1 })).rejects.toMatchObject({ code: "IO" });
    await expect(store.upsert("b", { n: 2 })).rejects.toMatchObject({ code: "POISONED" });
    expect(await store.get("a")).toBeUndefined();
    expect(await store.get("k1")).toEqual({ n: 46 });
    await store.close();
    await store.upsert("b", { n: 2 });
    expect(await store.verify()).toMatchObject({ ok: true, events: 99 });
  });

  it("repeated rename failures of the checkpoint: every event is durable, and verify reports the failures", async () => {
    const disk = failing(await prepared(), "rename", "snapshot.json", "EACCES");
    const store = await opened(disk, 3_000);
    for (let n = 0; n < 120; n += 1) await store.upsert("a", { n });
    const report = await store.verify();
    expect(report).toMatchObject({ ok: true, events: 337 });
    expect(report.notes).toEqual([expect.stringContaining("snapshot.json could not be written")]);
    await withStore(disk.crash("forget"), 4_000, async (again) => expect(await again.get("a")).toEqual({ n: 119 }));
  });
});
