import { createHash, randomBytes } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { holding } from "../../../test/helpers/holding.ts";
import { HeldLock } from "../../../test/helpers/held-lock.ts";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { OwnTime } from "../../../test/helpers/own-time.ts";

/** Tests a followed folder that is recorded as it changes. */

/** Waits until a path is recorded, and returns how long that took (see `OwnTime`). */
async function recorded(workspace: WorkspaceApi, path: string, iterations: number): Promise<number> {
  const began = performance.now();
  using own = new OwnTime();
  for (; performance.now() - began < 5_000; await sleep(5)) {
    const found = await workspace.history(path).catch(() => []);
    if (found.length >= iterations) return own.ms;
  }
  throw new Error(`${path} was not recorded`);
}

test("a person's edits are recorded automatically, in less than 200 ms (median), and in no session", async () => {
  await using project = new Project();
  project.write("a", "1");
  const workspace = await project.init();
  await workspace.follow({ record: true });
  const took: number[] = [];
  for (let i = 2; i <= 6; i += 1) {
    project.write("a", `${"x".repeat(i)}`);
    took.push(await recorded(workspace, "a", i));
  }
  expect(took.toSorted((a, b) => a - b)[2]).toBeLessThan(200);
  project.write("deep/er/b", "b");
  await recorded(workspace, "deep/er/b", 1);
  const [first] = await workspace.history("deep/er/b");
  expect(first).toMatchObject({ cause: "capture", actor: "human" });
  expect(await workspace.sessions()).toEqual([]);
});

test("a file that is written in pieces is recorded when it is whole", async () => {
  await using project = new Project();
  const workspace = await project.init();
  await workspace.follow({ record: true });
  let pauses = 0;
  let content = "";
  for (let piece = 0, last = performance.now(); piece < 100; piece += 1) {
    project.write("big", (content += `${piece}\n`));
    const now = performance.now();
    // A machine that is busy may keep the writer itself waiting.
    if (now - last > 40) pauses += 1;
    last = now;
    await sleep(5);
  }
  for (; ; await sleep(5)) {
    const newest = (await workspace.history("big").catch(() => [])).at(-1);
    if (newest?.hash === createHash("sha256").update(content).digest("hex")) break;
  }
  expect((await workspace.history("big")).length).toBeLessThanOrEqual(1 + pauses);
});

test("edits from before the recording are recorded at its start, and edits after closing are not", async () => {
  await using project = new Project();
  project.write("a", "1");
  const first = await project.init();
  await first.close();
  project.write("a", "two");
  const workspace = await project.open();
  await workspace.follow({ record: true });
  await recorded(workspace, "a", 2);
  await workspace.close();
  project.write("a", "three");
  await sleep(150);
  const again = await project.open();
  expect(await again.history("a")).toHaveLength(2);
});

test("changes of an action belong to it even if they are recorded before it ends", async () => {
  await using project = new Project();
  project.write("a", "1");
  const workspace = await project.init();
  await workspace.follow({ record: true });
  const action = await workspace.snapshotAction({
    type: "write_file",
    payload: { path: "a" },
    actor: "agent",
    session: "s",
  });
  project.write("a", "by the agent");
  project.write("b", "by hand");
  await recorded(workspace, "a", 2);
  await recorded(workspace, "b", 1);
  const { changes } = await workspace.finishAction(action?.id ?? "");
  expect(changes.map((one) => one.path)).toEqual(["a"]);
  expect((await workspace.history("b"))[0]?.actor).toBe("human");
  await workspace.undo({ action: action?.id ?? "" });
  expect([project.read("a"), project.read("b")]).toEqual(["1", "by hand"]);
});

test("a change that Chronicle makes itself is recorded once", async () => {
  await using project = new Project();
  project.write("a", "1");
  const workspace = await project.init();
  await workspace.follow({ record: true });
  await workspace.putFile("a", Buffer.from("2"));
  await workspace.undo();
  await sleep(250);
  expect((await workspace.history("a")).map(({ cause }) => cause)).toEqual(["baseline", "write", "undo"]);
});

test("a missing folder is reported once and not recorded as deleted, and is recorded again when it is back", async () => {
  await using project = new Project();
  project.write("a", "1");
  const first = await project.init();
  const { id, path } = first;
  await first.close();
  renameSync(path, `${path}.away`);
  const workspace = await (await project.store()).openById(id);
  const told: unknown[] = [];
  await workspace.follow({ record: true, onError: (error) => told.push(error) });
  for (let waited = 0; waited < 4_000 && told.length === 0; waited += 10) await sleep(10);
  await sleep(300);
  expect(told).toMatchObject([{ code: "NOT_FOUND" }]);
  expect(await workspace.history("a")).toHaveLength(1);
  renameSync(`${path}.away`, path);
  writeFileSync(`${path}/a`, "two");
  await recorded(workspace, "a", 2);
  expect(told).toHaveLength(1);
  await workspace.close();
});

test("a change that could not be recorded under another process's lock is recorded when the lock is free", async () => {
  await using project = new Project();
  project.write("a", "1");
  await (await project.init()).close();
  await using workspace = await (await project.store({ waitMs: 50 })).open({ folder: project.folder });
  const told: unknown[] = [];
  await workspace.follow({ record: true, onError: (error) => told.push(error) });
  const lock = await HeldLock.take(project.home);
  project.write("a", "two");
  for (let waited = 0; waited < 4_000 && told.length === 0; waited += 10) await sleep(10);
  expect(told).toMatchObject([{ code: "LOCKED" }]);
  await lock.release();
  await recorded(workspace, "a", 2);
});

test("a workspace that is open for reading only cannot be recorded", async () => {
  await using project = new Project();
  await project.init();
  const reading = await project.open({ readOnly: true });
  await expect(reading.follow({ record: true })).rejects.toMatchObject({ code: "READ_ONLY" });
});

test("an archived workspace is not scanned until it is unarchived and something changes", async () => {
  await using project = new Project();
  project.write("a", "1");
  const workspace = await project.init();
  const told: unknown[] = [];
  await workspace.follow({ record: true, onError: (error) => told.push(error) });
  await recorded(workspace, "a", 1);
  const other = await project.store();
  await other.archive(workspace.id);
  const bytes = randomBytes(900);
  project.write("b", bytes);
  await sleep(500);
  // No scan has read the file, and no scan is planned.
  expect(holding(project.home, bytes)).toEqual([]);
  await other.archive(workspace.id, false);
  await sleep(2_500);
  expect(await workspace.history("b").catch(() => [])).toEqual([]);
  project.write("a", "two");
  await recorded(workspace, "a", 2);
  await recorded(workspace, "b", 1);
  expect(told).toEqual([]);
});
