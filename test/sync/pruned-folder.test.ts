import { afterEach, expect, it } from "vitest";
import { sha256 } from "../../src/core/values/hash.ts";
import { FolderRig } from "../../src/testing/folder-rig.ts";
import { compact } from "../../src/engine/upkeep/compact.ts";
import { prune } from "../../src/engine/upkeep/prune.ts";
import { takeSnapshot } from "../../src/engine/read/snapshot.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/** The history of a folder that was synced from its first record on. The origin was not known at that record yet. */

let rig: FolderRig;
afterEach(() => rig.close());

const NOTHING_KEPT = { keepWithinMs: 0, keepPinned: false, now: true };

async function edited(...texts: string[]): Promise<void> {
  for (const text of texts) {
    rig.desk.edit("a", text);
    await rig.flush();
    await rig.during(takeSnapshot(rig.desk.context, {}));
  }
}

async function answered(): Promise<void> {
  rig = new FolderRig();
  rig.desk.cut();
  await rig.during(rig.host.open());
  await rig.during(rig.host.write("a", "0"));
  await rig.during(rig.desk.start());
  await rig.during(rig.desk.sync.resume());
  rig.desk.heal();
  await rig.pass(5_000);
  await rig.flush();
  const records = await rig.during(rig.desk.context.index.records("replica:"));
  expect(records.map(({ recordId }) => recordId)).toEqual(["replica:", `replica:${rig.host.id}`]);
  await edited("1", "2", "3");
  await rig.pass(5_000);
}

async function held(...texts: string[]): Promise<string[]> {
  const there = await rig.during(rig.desk.context.blobs.has(texts.map((text) => sha256(text))));
  return texts.filter((text) => there.has(sha256(text)));
}

async function problems(): Promise<unknown> {
  return (await rig.during(verify(rig.desk.context))).problems;
}

it("prune gives up what the origin has answered, and keeps what it has not", async () => {
  await answered();
  rig.desk.cut();
  rig.desk.edit("a", "4");
  await rig.pass(2_000);
  rig.desk.edit("a", "5");
  await rig.pass(2_000);
  const { context } = rig.desk;
  const pruned = await rig.during(prune(context, NOTHING_KEPT));
  // Contents that the copy of the origin's history names stay in the store for that copy.
  expect(pruned).toMatchObject({ pruned_snapshots: [1, 2], freed_contents: 3 });
  await rig.during(context.store.collect());
  expect(await held("4", "5")).toEqual(["4", "5"]);
  expect(await problems()).toEqual([]);
  rig.desk.heal();
  await rig.flush();
  expect(await rig.during(rig.host.tree())).toEqual({ a: "5" });
});

it.each(["goes on", "was stopped"])("the archive of the history can be dropped if the sync %s", async (how) => {
  await answered();
  if (how === "was stopped") await rig.during(rig.desk.sync.stop());
  await rig.during(compact(rig.desk.context, { dropArchive: true }));
  expect(await problems()).toEqual([]);
});

it("the archive of the history is not dropped as long as the origin has not answered", async () => {
  await answered();
  rig.desk.cut();
  rig.desk.edit("a", "4");
  await rig.pass(2_000);
  await expect(rig.during(compact(rig.desk.context, { dropArchive: true }))).rejects.toMatchObject({ code: "REFUSED" });
});
