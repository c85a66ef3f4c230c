import { expect, it } from "vitest";
import type { Hash } from "../../src/core/values/hash.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { FileEventLog } from "../../src/storage/files/file-event-log.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { SimBlobs } from "../../src/testing/blob-store-rig.ts";
import { RigOrigin, RigReplica, talk } from "../../src/testing/push-rig.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import { VirtualClock } from "../../src/testing/virtual-clock.ts";
import { LogHistory } from "../../src/replication/contents/log-history.ts";

const folder = { folder: 0o700 };
const LAYOUT = storeLayout("/store");

function file(content: string) {
  return { content: Buffer.from(content), mode: 0o644 };
}

/** A workspace as the engine makes it: a baseline of some files, and what came after. */
async function recorded() {
  const disk = SimDisk.fromTree({
    "/store": folder,
    "/config": folder,
    "/root": folder,
    "/proj": folder,
    "/proj/small.txt": file("from the baseline"),
    ...Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`/proj/${i}.txt`, file(`file ${i}`)])),
    "/proj/large.txt": file("also from the baseline ".repeat(2_000)),
  });
  const store = await openSimStore(disk, { firstId: 1 });
  const { workspace } = await store.init({ roots: ["/proj"] });
  await workspace.putFile("small.txt", Buffer.from("written later"));
  await workspace.snapshot();
  const { id } = workspace;
  await workspace.close();
  await store.close();
  return { disk, paths: LAYOUT.workspace(id), id };
}

it("an event whose base the origin has freed is not taken, because the history cannot be read without the base", async () => {
  const { disk, paths, id } = await recorded();
  const blobs = await new SimBlobs(disk).open({ layout: LAYOUT.blobs });
  const lines = (disk.content(paths.log)?.toString() ?? "").split("\n");
  const baseline = lines.findIndex((line) => line.includes('"record_id":"snapshot:'));
  const { record } = JSON.parse(lines[baseline] ?? "") as { record: { base: Hash } };
  const has = (hash: Hash): boolean => hash !== record.base;
  const replica = await RigReplica.start(RigReplica.emptyDisk());
  const clock = new VirtualClock();
  const { ends } = talk(clock, new RigOrigin(), replica, {
    origin: {
      history: new LogHistory(id, new FileEventLog(disk, paths)),
      contents: {
        open: async (hash: Hash) => (has(hash) ? blobs.open(hash) : undefined),
        openNamed: (hashes: readonly Hash[]) => blobs.readMany(hashes.filter(has)),
      },
    },
  });
  let end: unknown;
  void ends.then(([, own]) => (end = own));
  expect(await clock.run(5_000, () => end !== undefined)).toBe(true);
  expect(end).toMatchObject({ by: "us", error: { code: "UNAVAILABLE", data: { seq: baseline + 1 } } });
  expect(replica.upstream.head.seq).toBeLessThanOrEqual(baseline);
});

it("a replica gets all lines of a workspace, and also the contents that only its baseline names", async () => {
  const { disk, paths, id } = await recorded();
  const blobs = await new SimBlobs(disk).open({ layout: LAYOUT.blobs });
  const origin = new RigOrigin();
  const replica = await RigReplica.start(RigReplica.emptyDisk());
  const clock = new VirtualClock();
  const received: [number, number][] = [];
  const going = talk(clock, origin, replica, {
    replica: { onReceived: (...so) => received.push(so) },
    origin: {
      history: new LogHistory(id, new FileEventLog(disk, paths)),
      contents: {
        open: (hash: Hash) => blobs.open(hash),
        openNamed: (hashes: readonly Hash[]) => blobs.readMany(hashes),
      },
    },
  });
  const log = disk.content(paths.log)?.toString() ?? "";
  const last = log.split("\n").length - 1;
  expect(last).toBeGreaterThan(3);
  expect(await clock.run(5_000, () => going.origin.acknowledged === last)).toBe(true);
  expect(replica.bytes).toBe(log);
  expect(going.replica.missing.size).toBe(0);
  for await (const { hash } of blobs.list()) expect(await replica.blobs.get(hash)).toEqual(await blobs.get(hash));
  // The progress that people see goes up in steps to the whole, and never back.
  expect(received.at(-1)).toEqual([42, 42]);
  expect(new Set(received.map(([done]) => done)).size).toBeGreaterThan(20);
  expect(received).toEqual(received.toSorted(([a], [b]) => a - b));
});
