import { describe, expect, it } from "vitest";
import { ORIGIN, replicaRecord, ReplicaRig } from "../../testing/replica-rig.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { withCommit } from "../commit/commit.ts";
import { compact } from "../upkeep/compact.ts";
import { writtenDraft } from "../commit/operation-drafts.ts";
import { prune } from "../upkeep/prune.ts";
import { takeSnapshot } from "../read/snapshot.ts";
import { verify } from "../upkeep/verify.ts";

/** Makes a replica with three edits after the beginning of its sync. The origin has answered none of them. */
async function edited(): Promise<ReplicaRig> {
  const replica = await ReplicaRig.open({ a: "0" });
  await replica.apply({ applied: 1 });
  for (const text of ["1", "2", "3"]) {
    await replica.edit("a", text);
    await takeSnapshot(replica.context, {});
  }
  return replica;
}

const NOTHING_KEPT = { keepWithinMs: 0, keepPinned: false, now: true };

describe("edits that an origin has not answered", () => {
  it("are not pruned, and answered edits are", async () => {
    await using replica = await edited();
    await prune(replica.context, NOTHING_KEPT);
    await replica.context.store.collect();
    const { entries } = await replica.journal();
    expect(entries).toHaveLength(3);
    const needed = entries.flatMap(({ entry }) => entry?.hash ?? []);
    expect((await replica.context.blobs.has(needed)).size).toBe(3);
    const settled = entries[1]?.localSeq ?? 0;
    await replica.apply({ record: replicaRecord({ applied: 2, settled }) });
    await prune(replica.context, NOTHING_KEPT);
    await replica.context.store.collect();
    expect([...(await replica.context.blobs.has(needed))]).toEqual([sha256("2"), sha256("3")]);
    expect((await verify(replica.context)).problems).toEqual([]);
  });

  it("prevent the removal of the archive, unless the sync was stopped", async () => {
    await using replica = await edited();
    await expect(compact(replica.context, { dropArchive: true })).rejects.toMatchObject({ code: "REFUSED" });
    await replica.apply({ record: replicaRecord({ applied: 2, settled: await replica.head() }) });
    await compact(replica.context, { dropArchive: true });
    await replica.edit("a", "4");
    await expect(compact(replica.context, { dropArchive: true })).rejects.toThrow("unix:/origin.sock");
    await replica.apply({ record: replicaRecord({ applied: 2, stopped: true }) });
    await compact(replica.context, { dropArchive: true });
    expect((await verify(replica.context)).problems).toEqual([]);
  });
});

it("changes by a replica of this workspace also prevent the removal of the archive until the origin has answered", async () => {
  await using replica = await ReplicaRig.open({ a: "0" });
  await replica.apply({ applied: 1 });
  const entry = await replica.file("a", "of a replica");
  replica.write("a", "of a replica");
  const written = { entry, by: { actor: "agent" }, replica: { id: "r", localSeq: 7 } };
  await withCommit(replica.context, (commit) => commit.append([writtenDraft(parsePath("a"), written, 2)]));
  await expect(compact(replica.context, { dropArchive: true })).rejects.toMatchObject({ code: "REFUSED" });
  await replica.apply({ record: replicaRecord({ applied: 2, settled: await replica.head() }) });
  await compact(replica.context, { dropArchive: true });
});

describe("after a compaction", () => {
  it("the archive is still read", async () => {
    await using replica = await edited();
    const before = await replica.journal();
    await compact(replica.context);
    const { entries } = await replica.journal();
    expect(entries).toEqual(before.entries);
    await replica.edit("a", "4");
    expect((await replica.journal(before.upTo)).entries).toHaveLength(1);
  });

  it("the sync continues from the base if the archive was dropped", async () => {
    await using replica = await edited();
    replica.upstream("a", await replica.file("a", "u"), 5);
    const settled = await replica.head();
    await replica.apply({ record: replicaRecord({ applied: 6, settled }) });
    await compact(replica.context, { dropArchive: true });
    await replica.edit("a", "4");
    for (const after of [0, settled]) {
      expect((await replica.journal(after)).entries).toMatchObject([
        { path: "a", seen: 5, entry: { hash: sha256("4") } },
      ]);
    }
    const row = await replica.context.index.record(`replica:${ORIGIN}`);
    expect(row?.offset).toBeLessThan(0);
  });
});
