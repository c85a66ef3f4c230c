import { join } from "node:path";
import { expect, it } from "vitest";
import { Project } from "../../test/helpers/project.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { FileReplicaCursors } from "../replication/origin/file-replica-cursors.ts";

it("the replicas of a workspace are listed with what they have not acknowledged", async () => {
  await using project = new Project();
  const workspace = await project.init();
  expect(await workspace.replicas()).toEqual([]);
  const cursors = new FileReplicaCursors(new NodeDisk(), join(project.home, "workspaces", workspace.id, "replicas"));
  cursors.advance("laptop", 2);
  cursors.advance("ahead", 2_000);
  project.write("a.txt", "1");
  const { seq } = await workspace.snapshot();
  const { seq: head } = await workspace.status();
  expect(head).toBeGreaterThanOrEqual(seq);
  expect(await workspace.replicas()).toEqual([
    { id: "laptop", seq: 2, lag: head - 2 },
    { id: "ahead", seq: 2_000, lag: 0 },
  ]);
});
