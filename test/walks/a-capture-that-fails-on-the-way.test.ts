import { expect, it } from "vitest";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { storeLayout } from "../../src/storage/files/layout.ts";
import type { HeldLock } from "../../src/storage/lock.ts";
import { SqliteLock } from "../../src/storage/sqlite/sqlite-lock.ts";
import { Project } from "../helpers/project.ts";

it("a capture that fails while a command runs is said, and the last one makes up for it", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const { id } = await project.init();
  const store = await project.store({ waitMs: 50 });
  const workspace = await store.open({ folder: project.folder });
  const lock = new SqliteLock(new NodeDisk(), storeLayout(project.home).workspace(id).lock);
  let held: Promise<HeldLock> | undefined;
  const run = await workspace.run({
    command: ["sh", "-c", "sleep 0.3; echo two > a.txt; sleep 1.7"],
    onStart: () => {
      held = lock.exclusive(1_000);
      setTimeout(() => void held?.then((one) => one.release()), 1_200);
    },
  });
  lock.close();
  expect(run.changes.map((change) => change.path)).toEqual(["a.txt"]);
  expect(run.session.notes.join("\n")).toMatch(
    /a capture on the way failed .*: states between two captures may be missing/,
  );
  expect((await workspace.session(run.session.session_id)).notes).toEqual(run.session.notes);
  await workspace.close();
});
