import { expect, it } from "vitest";
import { parsePath } from "../../core/values/path.ts";
import { ReplicaRig } from "../../testing/replica-rig.ts";
import { capture } from "../capture/capture.ts";
import { BroughtPaths } from "./brought-paths.ts";

it("a path that the folder had lost before its first sync, and that the sync brought, is in doubt", async () => {
  await using replica = await ReplicaRig.open({ a: "own", b: "b" });
  const { context, disk } = replica;
  disk.unlink("/proj/a");
  await capture(context, { cause: "capture" });
  const seq = await replica.head();
  const change = await replica.change("a", await replica.file("a", "origin's"), {
    upstream: { seq: 50, iteration: 1 },
  });
  await replica.apply({ applied: 50, changes: [change] });
  const brought = new BroughtPaths(context);
  expect(await brought.doubt(parsePath("a"), seq)).toContain("a sync brought it");
  // There is no doubt about the states before the loss and after the sync, in which the folder has the path.
  expect(await brought.doubt(parsePath("a"), await replica.head())).toBeUndefined();
  expect(await brought.doubt(parsePath("a"), 3)).toBeUndefined();
});
