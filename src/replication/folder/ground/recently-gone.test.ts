import { expect, it } from "vitest";
import { parsePath, type WorkspacePath } from "../../../core/values/path.ts";
import { ORIGIN, replicaRecord, ReplicaRig } from "../../../testing/replica-rig.ts";
import { withCommit } from "../../../engine/commit/commit.ts";
import { writtenDraft } from "../../../engine/commit/operation-drafts.ts";
import { recentlyGone } from "./recently-gone.ts";

/**
 * Tests on which side a path was deleted first: at the origin, or on this side, which includes replicas of this
 * workspace.
 */

async function deletedByReplica(rig: ReplicaRig, path: WorkspacePath): Promise<void> {
  rig.disk.unlink(`/proj/${path}`);
  const replica = { id: "a replica of this one", localSeq: 7 };
  await withCommit(rig.context, (commit) =>
    commit.append([writtenDraft(path, { entry: undefined, by: { actor: "agent" }, replica }, 2)]),
  );
}

it("a deletion by a replica of this workspace counts as local, and one that a sync brought as remote", async () => {
  await using rig = await ReplicaRig.open({ here: "1", there: "2", replica: "3", kept: "4" });
  await rig.apply({ applied: 1 });
  await rig.edit("here", undefined);
  await rig.apply({
    applied: 2,
    changes: [await rig.change("there", undefined, { upstream: { seq: 2, iteration: 2 } })],
  });
  await deletedByReplica(rig, parsePath("replica"));
  await rig.apply({ record: replicaRecord({ applied: 2, halted: { reason: "mass-deletion" } }) });
  const gone = await recentlyGone(rig.context, ORIGIN);
  expect([...gone].map(([path, { lostOn }]) => [path, lostOn])).toEqual([
    ["here", "local"],
    ["there", "remote"],
    ["replica", "local"],
  ]);
});
