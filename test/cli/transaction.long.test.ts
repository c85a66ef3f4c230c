import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openStore } from "../../src/open.ts";
import { ended, Sandbox } from "./sandbox.ts";
import { untilRecorded } from "../helpers/until-recorded.ts";

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

it("begin prints an id, and rollback without an id rolls back the innermost transaction", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const begun = await box.call(["transaction", "begin", "--name", "refactoring"]);
  expect(begun.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  const id = begun.stdout.trim();
  box.write("a.txt", "after\n");
  box.write("b.txt", "new\n");
  expect((await box.call(["transaction", "list"])).stdout).toMatch(/active +0 actions +refactoring/);
  const back = await box.call(["transaction", "rollback"]);
  expect(back.code).toBe(0);
  expect(back.stdout).toContain(`rolled back ${id.slice(0, 8)} (refactoring)\n`);
  expect(back.stdout).toContain("taken back: 1 modified, 1 deleted\n");
  expect(read(box, "a.txt")).toBe("before\n");
  expect(existsSync(join(box.project, "b.txt"))).toBe(false);
  expect((await box.call(["redo", "--yes"])).code).toBe(0);
  expect(read(box, "a.txt")).toBe("after\n");
  const shapes = JSON.parse((await box.call(["transaction", "list", "--json"])).stdout) as unknown;
  expect(shapes).toMatchObject([{ id, status: "rolled_back", name: "refactoring", snapshots: [] }]);
});

it("with --keep, a transaction is committed when its process has ended, and this is reported", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const owner = spawn("sleep", ["60"]);
  const id = (await box.call(["transaction", "begin", "--pid", String(owner.pid), "--keep"])).stdout.trim();
  box.write("a.txt", "after\n");
  const gone = new Promise((resolve) => owner.once("exit", resolve));
  owner.kill("SIGKILL");
  await gone;
  expect((await box.call(["snapshot"])).stderr).toContain(
    `that began the transaction ${id.slice(0, 8)} is gone: the transaction was committed`,
  );
  expect(read(box, "a.txt")).toBe("after\n");
  expect((await box.call(["transaction", "begin", "--keep"])).code).toBe(2);
});

it("commit keeps the changes, and undo undoes them as one operation", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const id = (await box.call(["transaction", "begin"])).stdout.trim();
  box.write("a.txt", "after\n");
  const done = await box.call(["transaction", "commit", id.slice(0, 6)]);
  expect(done.stdout).toBe(`committed ${id.slice(0, 8)}: 1 change; chronicle undo takes it back\n`);
  expect((await box.call(["undo", "--yes"])).stdout).toContain("transaction: transaction ");
  expect(read(box, "a.txt")).toBe("before\n");
});

it("commit reports the number of changes and actions, and mentions undo only if there are changes", async () => {
  using box = new Sandbox();
  await box.must(["init"]);
  await box.must(["transaction", "begin", "--name", "idle"]);
  expect((await box.must(["transaction", "commit"])).stdout).toMatch(/^committed [0-9a-f]{8} \(idle\): no changes\n$/);
  const outer = (await box.must(["transaction", "begin"])).stdout.slice(0, 8);
  const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const workspace = await store.open({ folder: box.project });
  await workspace.action({ type: "write_file", payload: { path: "a.txt" } }, () => box.write("a.txt", "one\n"));
  await workspace.close();
  await store.close();
  box.write("b.txt", "two\n");
  await box.must(["transaction", "begin"]);
  box.write("c.txt", "three\n");
  const inner = (await box.must(["transaction", "commit"])).stdout;
  expect(inner).toMatch(/^committed [0-9a-f]{8}: a savepoint of [0-9a-f]{8}, and taken back with it\n$/);
  expect(inner).toContain(`of ${outer},`);
  expect((await box.must(["transaction", "commit"])).stdout).toMatch(
    /: 3 changes, 1 action among them; chronicle undo takes it back\n$/,
  );
});

it("commit within a run reports the changes, and that an undo of the run undoes them", async () => {
  using box = new Sandbox();
  await box.must(["init"]);
  const chronicle = box.command.map((word) => `'${word}'`).join(" ");
  const script = `${chronicle} transaction begin; echo x > a; ${chronicle} transaction commit`;
  const { stdout } = await box.must(["run", "--", "sh", "-c", script]);
  expect(stdout).toMatch(/^committed [0-9a-f]{8}: 1 change; part of run [0-9a-f]{8}, and taken back with it$/m);
});

it("mistakes are errors, with hints", async () => {
  using box = new Sandbox();
  box.write("a.txt", "x");
  await box.call(["init"]);
  expect(await box.call(["transaction", "commit"])).toMatchObject({ code: 3 });
  expect((await box.call(["transaction", "commit", "feed"])).stderr).toContain("chronicle transaction list");
  expect(await box.call(["transaction", "frobnicate"])).toMatchObject({ code: 2 });
  expect(await box.call(["transaction", "begin", "extra"])).toMatchObject({ code: 2 });
  const id = (await box.call(["transaction", "begin"])).stdout.trim();
  await box.call(["transaction", "commit", id]);
  const again = await box.call(["transaction", "rollback", id]);
  expect(again.code).not.toBe(0);
  expect(again.stderr).toContain("was committed already");
  expect(again.stderr).toContain("chronicle undo");
});

it("a transaction with --pid is rolled back when the process is killed", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const owner = spawn("sleep", ["60"]);
  await box.call(["transaction", "begin", "--pid", String(owner.pid)]);
  box.write("a.txt", "half done\n");
  await box.call(["snapshot"]);
  expect(read(box, "a.txt")).toBe("half done\n");
  owner.kill("SIGKILL");
  await ended(owner);
  expect((await box.call(["status"])).stdout + (await box.call(["status"])).stderr).toContain("that began it is gone");
  expect(read(box, "a.txt")).toBe("half done\n");
  await box.call(["snapshot"]);
  expect(read(box, "a.txt")).toBe("before\n");
});

it("a run with --rollback-on-failure that is killed is rolled back by the next command that writes", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  await box.call(["init"]);
  const script = `echo half > a.txt; ${untilRecorded(box.store, "a.txt")}; kill -9 $PPID`;
  box.run(["run", "--rollback-on-failure", "--", "sh", "-c", script]);
  expect(read(box, "a.txt")).toBe("half\n");
  expect((await box.must(["status"])).stdout).toContain("that began it is gone");
  await box.must(["snapshot"]);
  expect(read(box, "a.txt")).toBe("before\n");
  await box.must(["redo", "--yes"]);
  expect(read(box, "a.txt")).toBe("half\n");
  await box.must(["verify"]);
});

it("rollback reports the files that it leaves", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  await box.must(["init"]);
  const store = await openStore({ home: box.store, configFolder: join(box.folder, "config", "chronicle") });
  const workspace = await store.open({ folder: box.project });
  const { id } = await workspace.beginTransaction({ scope: "actions" });
  await workspace.action({ type: "write_file", payload: { path: "a.txt" }, transaction: id }, () =>
    box.write("a.txt", "after\n"),
  );
  box.write("note.txt", "a person's\n");
  const back = await box.call(["transaction", "rollback", id]);
  await workspace.close();
  await store.close();
  expect(back.stdout).toMatch(/^note: .*stay.*note\.txt/m);
  expect([read(box, "a.txt"), read(box, "note.txt")]).toEqual(["before\n", "a person's\n"]);
});
