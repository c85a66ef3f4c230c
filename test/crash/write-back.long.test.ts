import { describe, expect, it } from "vitest";
import { errnoOf, ChronicleError } from "../../src/core/values/errors.ts";
import { decodeFile, pathOfRecordId } from "../../src/core/values/file-record.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../src/core/records/write-back.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { settle } from "../../src/engine/capture/operate.ts";
import { settledWriteBack } from "../../src/engine/replica/settled-write-back.ts";
import { sweepCrashes, type CrashSweep, type SweepContext } from "../../src/testing/crash-sweep.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import type { Through } from "../helpers/engine-sweep.ts";
import { WriteBackRig } from "../../src/testing/write-back-rig.ts";

/**
 * An origin crashes while it decides about the writes of a replica: before, during or after any operation on the disk.
 * The replica then sends the batch again. Each entry has become one iteration or one version, an answer that was given
 * before the crash is given again, and the files are those of the accepted entries.
 */

/** Without `SWEEP_ALL`, every n-th operation is disturbed, and fewer fates are tried. */
function thinned(every: number): Partial<CrashSweep> {
  // EACCES is left out: the origin refuses an entry that it may not write (`read-only`) for good, so the replica does
  // not send it again.
  if (process.env["SWEEP_ALL"] !== undefined) return { errnos: ["ENOSPC", "EIO", "EMFILE"] };
  return { every, fates: ["forget", "keep", { seed: 1 }], errnos: ["ENOSPC", "EIO"] };
}

interface Begun {
  readonly disk: SimDisk;
  readonly id: string;
  readonly entries: readonly WriteBackEntry[];
}

/** An origin with some files, and what a replica has made of them. */
async function begin(files?: Readonly<Record<string, string>>): Promise<Begun> {
  const origin = await WriteBackRig.create(files);
  const a = await origin.write("a", "a0");
  const b = await origin.write("b", "b0");
  const old = await origin.write("old/x", "x0");
  const folder = await origin.seqOf("old");
  await origin.write("b", "the host's");
  const entries = [
    await origin.entry(3, "a", "a1", { seen: a }),
    await origin.entry(4, "a", undefined, { seen: a }),
    await origin.entry(5, "a", "a2", { seen: a, mode: 0o755 }),
    await origin.entry(6, "b", "the replica's", { seen: b }),
    await origin.entry(7, "new/c", "c1"),
    await origin.entry(8, "link", "new/c", { kind: "symlink" }),
    await origin.entry(9, "old", "a file now", { seen: folder }),
    await origin.entry(10, "old/x", undefined, { seen: old }),
    await origin.entry(11, "new/c", "c2"),
    // The file has this content already, so no event tells that the origin has decided about this entry.
    await origin.entry(12, "new/c", "c2"),
    await origin.entry(13, "new/c", "c3"),
  ];
  await origin[Symbol.asyncDispose]();
  return { disk: origin.disk.crash("keep"), id: origin.workspaceId, entries };
}

const AFTER: Readonly<Record<string, string>> = {
  a: "a2",
  b: "the host's",
  link: "new/c",
  new: "/",
  "new/c": "c3",
  old: "a file now",
};

function sweepOf({ disk, id, entries }: Begun, every: number, through?: Through): CrashSweep<WriteBackAnswer> {
  return {
    ...thinned(every),
    prepare: () => disk,
    run: async (copy, acknowledge) => {
      const origin = await WriteBackRig.open(copy, id, through);
      acknowledge(await origin.accept(entries));
      await origin[Symbol.asyncDispose]();
    },
    check: (copy, context) => checkAgain(copy, context, { id, entries }),
  };
}

/** Sends the batch again, and checks the answer, the files and the recorded events. */
async function checkAgain(
  copy: SimDisk,
  { acknowledged, error }: SweepContext<WriteBackAnswer>,
  { id, entries }: Pick<Begun, "id" | "entries">,
): Promise<void> {
  if (errnoOf(error) !== undefined && !(error instanceof ChronicleError))
    throw new Error("a bare system error reached the caller", { cause: error });
  const origin = await WriteBackRig.open(copy, id);
  const [before] = acknowledged;
  await settle(origin.context);
  const { upTo } = await settledWriteBack(origin.context, "r1");
  if (before !== undefined) expect(upTo).toBe(13);
  const answer = await origin.accept(entries);
  if (before !== undefined) expect(answer).toEqual(before);
  expect(answer.accepted.map(({ localSeq }) => localSeq)).toEqual([3, 4, 5, 7, 8, 9, 10, 11, 12, 13]);
  expect(answer.rejected).toMatchObject([{ localSeq: 6, reason: "stale" }]);
  const { kept: _, ...files } = await origin.files();
  expect(files).toEqual(AFTER);
  const taken = await takenOf(origin);
  expect(taken.sort((x, y) => x - y)).toEqual([3, 4, 5, 7, 8, 9, 10, 11, 13]);
  expect((await origin.context.index.records("version:")).map(({ recordId }) => recordId)).toEqual(["version:r1:6"]);
  await origin[Symbol.asyncDispose]();
  const store = await openSimStore(copy, { firstId: 900_000 });
  const workspace = await store.openById(id, {});
  expect((await workspace.verify()).problems).toEqual([]);
  await workspace.close();
  await store.close();
}

/** The local numbers of the replica's recorded changes, without that of the folder `new`, which no entry makes. */
async function takenOf(origin: WriteBackRig): Promise<number[]> {
  const found: number[] = [];
  for (const { recordId, record } of await origin.events("file")) {
    const path = pathOfRecordId(recordId);
    const file = path === undefined ? undefined : decodeFile(path, record);
    if (file?.replica !== undefined && path !== "new") found.push(file.replica.localSeq);
  }
  return found;
}

/** A disk whose `sync` does nothing, so what the origin answers is not durable, and a power cut loses it. */
const withoutSync: Through = (disk) =>
  new Proxy(disk, {
    get(target, key) {
      if (key === "sync") return () => undefined;
      const own: unknown = Reflect.get(target, key, target);
      return typeof own === "function" ? (own as (...args: unknown[]) => unknown).bind(target) : own;
    },
  });

describe("an origin that crashes while it decides about a replica's batch", () => {
  it("decides each entry once, in a hosted workspace", async () => {
    const result = await sweepCrashes(sweepOf(await begin(), 1));
    expect(result.points).toBeGreaterThan(5);
  });

  it("decides each entry once, in a workspace with a folder", async () => {
    const begun = await begin({ kept: "kept" });
    const { points } = await sweepCrashes(sweepOf(begun, 9));
    expect(points).toBeGreaterThan(20);
    // The last operations belong to the commit that closes the intent. A crash may leave only its first events.
    for (let only = points - 5; only < points; only += 1) await sweepCrashes({ ...sweepOf(begun, 1), only });
  });

  it("fails the sweep if it answers before its events are durable", async () => {
    await expect(sweepCrashes(sweepOf(await begin(), 1, withoutSync))).rejects.toThrow(/^Crash sweep: /);
  });
});
