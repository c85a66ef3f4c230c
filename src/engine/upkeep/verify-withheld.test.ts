import { expect, it } from "vitest";
import type { IdentifiedConflict } from "../../core/records/conflict-record.ts";
import type { Entry } from "../../core/values/entry.ts";
import { sha256 } from "../../core/values/hash.ts";
import { FileWithheldContents } from "../../replication/replica/withheld-contents.ts";
import { ORIGIN, ReplicaRig } from "../../testing/replica-rig.ts";
import { compact } from "./compact.ts";
import { verify } from "./verify.ts";
import { presentOf } from "./verify-copy.ts";

/** Makes a replica with a conflict. The origin freed its content of the conflict before the replica had it. */
async function disputed(): Promise<{ readonly replica: ReplicaRig; readonly withhold: (entry: Entry) => void }> {
  const replica = await ReplicaRig.open({ a: "mine" });
  const wanted: Entry = { ...(await replica.file("a", "mine")), hash: sha256("freed") };
  const sync = { origin: ORIGIN, baseSeq: 0, upstreamSeq: 6 };
  const states = { path: "a" as never, base: undefined, current: await replica.recorded("a"), wanted };
  const met = "2030-01-01T00:00:00.000Z";
  const record: IdentifiedConflict["record"] = { ...states, state: "open", reason: "created", undo: "", met, sync };
  await replica.apply({ applied: 6, conflicts: [{ id: "22222222-2222-4222-8222-222222222222", record }] });
  const folder = `/store/workspaces/${replica.context.workspaceId}/upstream`;
  replica.disk.makeFolder(folder, 0o700);
  const list = new FileWithheldContents(replica.disk, `${folder}/withheld`);
  return { replica, withhold: ({ hash }) => list.add(hash === undefined ? [] : [hash]) };
}

it("verify accepts a missing content of a conflict only if the origin is known to have withheld it", async () => {
  const { replica, withhold } = await disputed();
  await using _rig = replica;
  expect((await verify(replica.context)).problems).toMatchObject([{ kind: "blob-missing" }]);
  withhold({ hash: sha256("freed") } as Entry);
  expect((await verify(replica.context)).problems).toEqual([]);
});

it("a compaction that drops its archive accepts a missing content of a conflict only if the origin withheld it", async () => {
  const { replica, withhold } = await disputed();
  await using _rig = replica;
  await expect(compact(replica.context, { dropArchive: true })).rejects.toThrow(/blob-missing/);
  withhold({ hash: sha256("freed") } as Entry);
  expect(await compact(replica.context, { dropArchive: true })).toMatchObject({ archive: null });
  expect((await verify(replica.context)).problems).toEqual([]);
});

it("a content that the replica recorded itself stays needed, even if the origin withheld it", async () => {
  const { replica, withhold } = await disputed();
  await using _rig = replica;
  const own = await replica.file("a", "mine");
  withhold(own);
  const needed = new Map([[own.hash ?? sha256(""), { where: "a", size: undefined, isUpstream: false }]]);
  expect(await presentOf(replica.context, needed)).toEqual(needed);
});
