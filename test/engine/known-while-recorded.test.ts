import { expect, test } from "vitest";
import { ReplicaRig } from "../../src/testing/replica-rig.ts";
import { capture } from "../../src/engine/capture/capture.ts";
import { verify } from "../../src/engine/upkeep/verify.ts";

/** A capture knows a path as long as it is recorded as there, because it can find only a known path to be gone. */

test("a link that a disk cannot hold counts as there in each capture, until its folder is gone", async () => {
  await using replica = await ReplicaRig.open({ "d/f": "F" });
  const { context, disk } = replica;
  disk.symlink(Buffer.from("f"), "/proj/d/link");
  await capture(context, { cause: "watch" });
  // The folder was carried to a disk without links.
  const traits = context.worktree.traitsOf.bind(context.worktree);
  context.worktree.traitsOf = (path) => ({ ...traits(path), symlinks: false });
  disk.unlink("/proj/d/link");
  for (let look = 0; look < 2; look += 1) expect((await capture(context, { cause: "watch" })).changes).toEqual([]);
  expect((await replica.recorded("d/link"))?.kind).toBe("symlink");
  disk.unlink("/proj/d/f");
  disk.removeFolder("/proj/d");
  const { changes } = await capture(context, { cause: "watch" });
  expect(changes.map(({ path }) => path)).toEqual(["d", "d/f", "d/link"]);
  expect((await verify(context)).problems).toEqual([]);
});

/**
 * While the capture scans, an operation ends that left a path alone. It may have put something into the folder for a
 * moment, so the capture looks again.
 */
test("a file that a capture found gone is recorded as deleted, although the capture looks again", async () => {
  await using replica = await ReplicaRig.open({ "d/x": "X", y: "Y" });
  const { context, disk } = replica;
  const inNoFolder = await replica.change("none/new", await replica.file("none/new", "the origin's"));
  disk.unlink("/proj/d/x");
  replica.write("y", "edited");
  const scan = context.worktree.scan.bind(context.worktree);
  context.worktree.scan = async (request, onChanged) => {
    const report = await scan(request, onChanged);
    context.worktree.scan = scan;
    const { blocked } = await replica.apply({ applied: 0, changes: [inNoFolder] });
    expect(blocked).toHaveLength(1);
    return report;
  };
  const { changes } = await capture(context, { cause: "watch" });
  expect(changes.map(({ path }) => path).toSorted()).toEqual(["d/x", "y"]);
  expect(await replica.recorded("d/x")).toBeUndefined();
  expect((await verify(context)).problems).toEqual([]);
});
