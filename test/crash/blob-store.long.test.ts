import { describe, expect, test } from "vitest";
import { ChronicleError, errnoOf } from "../../src/core/values/errors.ts";
import { sha256, type Hash } from "../../src/core/values/hash.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import type { SimDiskOptions } from "../../src/testing/sim-disk/sim-machine.ts";
import type { BlobBatch, BlobStore } from "../../src/storage/blob-store.ts";
import type { IndexChange } from "../../src/storage/blob-index.ts";
import { FileBlobStore } from "../../src/storage/files/file-blob-store.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { OpenSink } from "../../src/storage/files/pack-sink.ts";
import { PackWriter } from "../../src/storage/files/pack-writer.ts";
import { MemoryBlobIndex } from "../../src/storage/memory/memory-blob-index.ts";
import { memoryLocks } from "../../src/storage/memory/memory-lock.ts";
import { problemsOf, putAll, someBytes } from "../../src/testing/blob-store-suite.ts";
import { sweepCrashes, type SweepContext } from "../../src/testing/crash-sweep.ts";

const layout = storeLayout("/home").blobs;
const LARGE_BYTES = 20_000;
const sinkParts = { known: () => false, largeBytes: LARGE_BYTES, ownsWriter: false };

/** The part of the index that survives: nothing, everything, or only what was durable (after a power cut). */
type Left = "nothing" | "newest" | "oldest";

/** An index that remembers every change, so that any earlier state can be made again. */
class RememberingIndex extends MemoryBlobIndex {
  readonly changes: IndexChange[];

  constructor(changes: readonly IndexChange[]) {
    super();
    this.changes = [...changes];
    for (const change of changes) super.apply(change);
  }

  override apply(change: IndexChange): void {
    super.apply(change);
    this.changes.push(change);
  }
}

/** The index of the store that was last opened on a disturbed disk. */
let lastIndex = new RememberingIndex([]);

function openStore(disk: SimDisk, firstId: number, changes: readonly IndexChange[] = []): Promise<FileBlobStore> {
  let id = firstId;
  const newPackId = (): string => String((id += 1)).padStart(26, "0");
  lastIndex = new RememberingIndex(changes);
  const openIndex = () => ({ index: lastIndex, fresh: changes.length === 0, readOnly: false });
  const options = { disk, layout, openIndex, lock: memoryLocks(), newPackId, lockWaitMs: 50, largeBytes: LARGE_BYTES };
  return FileBlobStore.open(options);
}

interface Prepared {
  readonly disk: SimDisk;
  readonly changes: readonly IndexChange[];
}

async function prepared(contents: readonly Uint8Array[] = [], options: SimDiskOptions = {}): Promise<Prepared> {
  const disk = new SimDisk({ losesNames: true, ...options });
  disk.makeFolder("/home");
  disk.syncFolder("/");
  const store = await openStore(disk, 1_000);
  await putAll(store, contents);
  await store.close();
  return { disk: disk.crash("forget"), changes: lastIndex.changes };
}

/**
 * Checks that every acknowledged content can be read, that there are no problems, and that the next batch works without
 * a repair. `mayTell`: contents that were not acknowledged may be reported as damaged, because the durable end of the
 * lane is not known.
 */
async function checkStore(
  disk: SimDisk,
  context: Pick<SweepContext<Hash>, "acknowledged" | "error"> & { readonly mayTell?: boolean },
  changes: readonly IndexChange[] = [],
): Promise<void> {
  const { acknowledged, error, mayTell = false } = context;
  const problems = async (found: FileBlobStore) =>
    (await problemsOf(found)).filter(({ hashes }) => !mayTell || hashes.some((hash) => acknowledged.includes(hash)));
  if (errnoOf(error) !== undefined) throw new Error("a bare system error", { cause: error });
  const store = await openStore(disk, 2_000, changes);
  for (const hash of acknowledged) {
    if ((await store.get(hash)) === undefined) throw new Error(`acknowledged content ${hash} is gone`);
  }
  expect(await problems(store)).toEqual([]);
  if (!mayTell) for await (const { hash } of store.list()) expect(await store.get(hash)).toBeDefined();
  const next = Buffer.from("the next batch");
  const [hash] = await putAll(store, [next]);
  expect(await store.get(hash as Hash)).toEqual(next);
  await store.collect(() => true);
  for (const each of acknowledged) expect(await store.has([each])).toEqual(new Set([each]));
  expect(await problems(store)).toEqual([]);
  await store.close();
}

/** Sweeps a run from a prepared store. `left`: the part of the index that the check has. */
async function sweep(
  left: Left,
  from: Prepared,
  run: (store: FileBlobStore, tell: (hash: Hash) => void, disk: SimDisk) => Promise<void>,
  mayTell = false,
): Promise<void> {
  const before = left === "nothing" ? [] : from.changes;
  let index = lastIndex;
  const result = await sweepCrashes<Hash>({
    prepare: () => from.disk,
    // All errnos are tried only with a lost index, because the code does not depend on the errno.
    ...(left === "nothing" ? {} : { errnos: ["ENOSPC", "EIO"] }),
    run: async (disk, tell) => {
      const opening = openStore(disk, 0, before);
      index = lastIndex;
      const store = await opening;
      await run(store, tell, disk);
      await store.close();
    },
    check: (disk, context) => {
      const durable = index.changes.findLastIndex((change) => change.durable === true) + 1;
      const kept = { nothing: 0, newest: index.changes.length, oldest: Math.max(before.length, durable) }[left];
      return checkStore(disk, { ...context, mayTell }, index.changes.slice(0, kept));
    },
  });
  expect(result.points).toBeGreaterThan(3);
}

/** Runs an action that may fail. Throws if the error is a bare system error instead of one with our codes. */
async function tolerant(store: FileBlobStore, action: () => Promise<void>): Promise<void> {
  try {
    await action();
  } catch (error) {
    if (error instanceof Error && errnoOf(error) !== undefined)
      throw new Error("a bare system error", { cause: error });
    if (error instanceof ChronicleError && error.code === "POISONED") await isPoisonedOrTakenUp(store);
  }
}

/** After the disk works again, a new batch works, unless failed batches have not ended. */
async function isPoisonedOrTakenUp(store: FileBlobStore): Promise<void> {
  try {
    await (await store.batch()).abandon();
  } catch (error) {
    expect(error).toMatchObject({ code: "POISONED" });
  }
}

async function putAndTell(
  store: BlobStore,
  contents: readonly Uint8Array[],
  tell: (hash: Hash) => void,
): Promise<void> {
  for (const hash of await putAll(store, contents)) tell(hash);
}

/** Makes a batch disposable: its disposal abandons it. */
function disposable(batch: BlobBatch): BlobBatch & AsyncDisposable {
  return Object.assign(batch, { [Symbol.asyncDispose]: () => batch.abandon() });
}

describe.each<Left>(["nothing", "newest", "oldest"])(
  "a crash or an error at every operation, with this part of the index left: %s",
  (left) => {
    test("a first batch in a new store, then two more", async () => {
      await sweep("nothing", await prepared(), async (store, tell) => {
        await tolerant(store, () => putAndTell(store, [someBytes(3_000, 1), someBytes(3_000, 2, true)], tell));
        await tolerant(store, () => putAndTell(store, [Buffer.alloc(0)], tell));
        await tolerant(store, () => putAndTell(store, [someBytes(9_000, 3), someBytes(100, 4)], tell));
      });
    });

    test("batches on a lane that was used before", async () => {
      await sweep(left, await prepared([someBytes(2_000, 9)]), async (store, tell) => {
        tell(sha256(someBytes(2_000, 9)));
        await tolerant(store, () => putAndTell(store, [someBytes(3_000, 1), someBytes(3_000, 2, true)], tell));
        await tolerant(store, () => putAndTell(store, [someBytes(3_000, 1), someBytes(100, 4)], tell));
      });
    });

    test("batches that are made durable while others go on", async () => {
      const run: Parameters<typeof sweep>[2] = async (store, tell) => {
        tell(sha256(someBytes(2_000, 9)));
        const putBeside = (seed: number) =>
          tolerant(store, async () => {
            await using batch = disposable(await store.batch());
            const hash = await batch.put(someBytes(3_000, seed));
            await batch.commit({ beside: true });
            tell(hash);
          });
        const lost = await store.batch();
        const all = [putBeside(1), putBeside(2)];
        await tolerant(store, async () => void (await lost.put(someBytes(300_000, 3))));
        await lost.abandon();
        for (const seed of [4, 5]) all.push(putBeside(seed));
        all.push(tolerant(store, () => putAndTell(store, [someBytes(1_000, 6)], tell)));
        await Promise.all(all);
        await putBeside(7);
      };
      await sweep(left, await prepared([someBytes(2_000, 9)]), run, left === "nothing");
    });

    test("an abandoned batch among others", async () => {
      await sweep(left, await prepared([someBytes(2_000, 9)]), async (store, tell) => {
        const lost = await store.batch();
        await tolerant(store, async () => {
          for (let i = 0; i < 20; i++) await lost.put(someBytes(16_000, 50 + i));
        });
        await tolerant(store, () => putAndTell(store, [someBytes(1_000, 1)], tell));
        await lost.abandon();
        await tolerant(store, () => putAndTell(store, [someBytes(1_000, 2)], tell));
      });
    });

    test("large contents", async () => {
      await sweep(left, await prepared([someBytes(2_000, 9)]), async (store, tell) => {
        await tolerant(store, () =>
          putAndTell(store, [someBytes(30_000, 1, true), someBytes(10, 2), someBytes(30_000, 3)], tell),
        );
        // A content that was renamed to its place, but is not durable yet, can be read.
        await tolerant(store, async () => void (await store.get(sha256(someBytes(30_000, 3)))));
        const again = [someBytes(10, 4), someBytes(30_000, 1, true), someBytes(30_000, 3)];
        await tolerant(store, () => putAndTell(store, again, tell));
      });
    });

    test("sealing a pack", async () => {
      await sweep(left, await prepared([someBytes(2_000, 9)]), async (store, tell, disk) => {
        const lanes = await store.takeLanes(1);
        let id = 500;
        const newPackId = (): string => String((id += 1)).padStart(26, "0");
        for (const lane of lanes) {
          const writer = new PackWriter({ disk, layout, newPackId }, lane.grant);
          const first = new OpenSink({ ...sinkParts, disk, layout, writer, newPackId });
          const hashes = [first.put(someBytes(600, 1))];
          first.flush();
          writer.seal();
          hashes.push(first.put(someBytes(700, 2)));
          await store.publish([first.finish()]);
          writer.close();
          lane.release();
          for (const hash of hashes) tell(hash);
        }
      });
    });

    // The process in which the sync of a folder failed knows that a file in it is not durable. Another process that
    // reads the file syncs the folder first. If it only stores the same content, it writes a new file.
    test.each([
      { reads: true, losesNames: false },
      ...(left === "nothing" ? [] : [{ reads: false, losesNames: true }]),
    ])(
      "a process stores the same contents again after a sync has failed in another one: %j",
      async ({ reads, losesNames }) => {
        const contents = [someBytes(3_000, 1), someBytes(30_000, 2, true), someBytes(30_000, 3)];
        const from = await prepared([someBytes(2_000, 9)], { losesNames });
        await sweep(left, from, async (store, tell, disk) => {
          tell(sha256(someBytes(2_000, 9)));
          await tolerant(store, () => putAndTell(store, contents, () => undefined));
          await store.close();
          const known = left === "nothing" ? [] : lastIndex.changes;
          const other = await openStore(disk, 700, known);
          for (const content of reads ? contents : []) {
            await tolerant(other, async () => void (await other.get(sha256(content))));
          }
          await tolerant(other, () => putAndTell(other, contents, tell));
          await other.close();
        });
      },
    );

    test("collecting", async () => {
      const small = Array.from({ length: 6 }, (_, i) => someBytes(1_000 + i, i));
      const all = [...small, someBytes(30_000, 20, true), someBytes(30_000, 21, true)];
      const kept = all.map((bytes) => sha256(bytes)).filter((_, i) => i === 1 || i === 7);
      await sweep(left, await prepared(all), async (store, tell) => {
        for (const hash of kept) tell(hash);
        const dead = all.map((bytes) => sha256(bytes)).filter((hash) => !kept.includes(hash));
        const collect = async (): Promise<void> => void (await store.collect((hash) => !dead.includes(hash)));
        await tolerant(store, collect);
        await tolerant(store, () => putAndTell(store, [someBytes(999, 77)], tell));
        await tolerant(store, collect);
      });
    });
  },
);

describe("the sweep notices", () => {
  class ForgetfulDisk extends SimDisk {
    override sync(): void {
      // The planted bug: nothing is made durable.
    }
    override fork(options?: ConstructorParameters<typeof SimDisk>[0]): SimDisk {
      return Object.setPrototypeOf(super.fork(options), ForgetfulDisk.prototype) as SimDisk;
    }
  }

  test("a pack that is not synced", async () => {
    const swept = sweepCrashes<Hash>({
      prepare: async () => Object.setPrototypeOf((await prepared()).disk, ForgetfulDisk.prototype) as SimDisk,
      run: async (disk, tell) => putAndTell(await openStore(disk, 0), [someBytes(3_000, 1)], tell),
      check: (disk, context) => checkStore(disk, context),
    });
    await expect(swept).rejects.toThrow(/is gone/);
  });
});
