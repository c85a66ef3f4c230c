import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { storeLayout } from "../../src/storage/layout.ts";
import { SqliteLock } from "../../src/storage/sqlite/sqlite-lock.ts";
import { Project } from "../helpers/project.ts";

/**
 * The time for a capture to fail in, because a failure is not reported before the run ends. The capture is tried
 * within a tenth of this time.
 */
const TRIED_MS = 3_000;

/** Holds the lock while the command changes a file and a capture tries to record the change. */
async function holdBeside(project: Project, lock: SqliteLock): Promise<void> {
  const held = await lock.exclusive(60_000);
  project.write("../held", "");
  await vi.waitFor(() => expect(project.read("a.txt")).toBe("two\n"), { timeout: 60_000 });
  await sleep(TRIED_MS);
  held.release();
  project.write("../free", "");
}

it("a capture that fails while a command runs is noted, and the last capture records its changes", async () => {
  await using project = new Project();
  project.write("a.txt", "one\n");
  const { id } = await project.init();
  const store = await project.store({ waitMs: 50 });
  const workspace = await store.open({ folder: project.folder });
  const lock = new SqliteLock(new NodeDisk(), storeLayout(project.home).workspace(id).lock);
  // The command waits for two files outside of the folder: the lock is held, and the lock is free again.
  const after = (file: string): string => `while [ ! -e "${join(project.base, file)}" ]; do sleep 0.05; done`;
  const meanwhile = Promise.withResolvers<void>();
  const run = await workspace.run({
    command: ["sh", "-c", `${after("held")}; echo two > a.txt; ${after("free")}`],
    onStart: () => meanwhile.resolve(holdBeside(project, lock)),
  });
  await meanwhile.promise;
  lock.close();
  expect(run.changes.map((change) => change.path)).toEqual(["a.txt"]);
  expect(run.session.notes.join("\n")).toMatch(
    /a capture during the work failed .*: states between two captures may be missing/,
  );
  expect((await workspace.session(run.session.session_id)).notes).toEqual(run.session.notes);
  await workspace.close();
});
