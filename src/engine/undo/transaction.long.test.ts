import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Returns the id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn("sleep", ["60"]);
  await once(child, "spawn");
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
  return child.pid ?? 0;
}

/** Starts a process that does nothing until it is killed. */
async function otherProcess(): Promise<{ readonly pid: number; readonly kill: () => Promise<unknown> }> {
  const alive = spawn("sleep", ["60"]);
  await once(alive, "spawn");
  const ended = once(alive, "exit");
  const kill = (): Promise<unknown> => {
    alive.kill("SIGKILL");
    return ended;
  };
  return { pid: alive.pid ?? 0, kill };
}

test("the changes of a transaction stay when it is committed, and are one operation for undo", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  const workspace = await project.init();
  project.write("earlier.txt", "not its own\n");
  const begun = await workspace.beginTransaction({ name: "rename" });
  expect(begun).toMatchObject({ status: "active", name: "rename", snapshots: [], actor: "human" });
  expect(begun.id).toMatch(UUID);
  project.write("a.txt", "after\n");
  project.write("dir/b.txt", "new\n");
  const done = await workspace.commitTransaction(begun.id.slice(0, 8));
  expect(done).toMatchObject({ id: begun.id, status: "committed" });
  expect(done.finished_at).toBeDefined();
  project.write("later.txt", "not its own either\n");
  const [operation] = await workspace.operations();
  expect(operation).toMatchObject({ id: begun.id, kind: "transaction", summary: "rename", changed: 3 });
  await workspace.undo();
  expect(Object.keys(project.tree())).toEqual(["a.txt", "earlier.txt", "later.txt"]);
  expect(project.read("a.txt")).toBe("before\n");
  await workspace.redo();
  expect(project.read("a.txt")).toBe("after\n");
  expect(project.read("dir/b.txt")).toBe("new\n");
  expect((await workspace.verify()).problems).toEqual([]);
});

test("a rollback undoes exactly the changes of the transaction, and can be redone", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  project.write("gone.txt", "to be deleted\n");
  const workspace = await project.init();
  project.write("earlier.txt", "not its own\n");
  const { id } = await workspace.beginTransaction();
  project.write("a.txt", "after\n");
  project.write("new/b.txt", "new\n");
  project.remove("gone.txt");
  const before = project.tree();
  const { transaction, undo } = await workspace.rollbackTransaction(id);
  expect(transaction.status).toBe("rolled_back");
  expect(undo.changes.map((one) => one.path).sort()).toEqual(["a.txt", "gone.txt", "new", "new/b.txt"]);
  expect(Object.keys(project.tree())).toEqual(["a.txt", "earlier.txt", "gone.txt"]);
  expect(project.read("a.txt")).toBe("before\n");
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  await workspace.undo();
  expect(project.read("a.txt")).toBe("before\n");
});

test("others' later work on the same file survives a rollback", async () => {
  await using project = new Project();
  project.write("a.txt", "1\n2\n3\n4\n5\n");
  const workspace = await project.init();
  const { id } = await workspace.beginTransaction({ session: "agent-1" });
  const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, session: "agent-1" });
  project.write("a.txt", "one\n2\n3\n4\n5\n");
  await workspace.finishAction(action?.id ?? "");
  project.write("a.txt", "one\n2\n3\n4\nfive\n");
  await workspace.snapshot();
  const { transaction } = await workspace.rollbackTransaction(id);
  expect(project.read("a.txt")).toBe("1\n2\n3\n4\nfive\n");
  expect(transaction.snapshots).toEqual([action?.id]);
});

test("a function that throws is rolled back and its error is rethrown, and a function that returns is committed", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  const workspace = await project.init();
  const failed = workspace.transaction(() => {
    project.write("a.txt", "half done\n");
    throw new Error("no");
  });
  await expect(failed).rejects.toThrow("no");
  expect(project.read("a.txt")).toBe("before\n");
  const result = await workspace.transaction(async ({ id }) => {
    project.write("a.txt", "done\n");
    return id;
  });
  expect(project.read("a.txt")).toBe("done\n");
  expect((await workspace.transactions()).map(({ id, status }) => [id === result, status])).toEqual([
    [false, "rolled_back"],
    [true, "committed"],
  ]);
});

test("savepoints are rolled back alone, or with the transaction around them", async () => {
  await using project = new Project();
  project.write("a.txt", "0\n");
  const workspace = await project.init();
  const outer = await workspace.beginTransaction();
  project.write("a.txt", "1\n");
  const inner = await workspace.beginTransaction();
  expect(inner.parent).toBe(outer.id);
  project.write("a.txt", "2\n");
  project.write("inner.txt", "x\n");
  await workspace.rollbackTransaction(inner.id);
  expect(project.read("a.txt")).toBe("1\n");
  const second = await workspace.beginTransaction();
  project.write("b.txt", "y\n");
  await workspace.commitTransaction(second.id);
  const third = await workspace.beginTransaction();
  project.write("c.txt", "z\n");
  await workspace.rollbackTransaction(outer.id);
  expect(Object.keys(project.tree())).toEqual(["a.txt"]);
  expect(project.read("a.txt")).toBe("0\n");
  const states = (await workspace.transactions()).map(({ id, status }) => [id, status]);
  expect(states).toEqual([
    [outer.id, "rolled_back"],
    [inner.id, "rolled_back"],
    [second.id, "committed"],
    [third.id, "rolled_back"],
  ]);
  expect((await workspace.verify()).problems).toEqual([]);
});

test("committing the outer transaction commits its open savepoints", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const outer = await workspace.beginTransaction();
  await workspace.beginTransaction();
  project.write("a.txt", "1\n");
  await workspace.commitTransaction(outer.id);
  expect((await workspace.transactions()).map((one) => one.status)).toEqual(["committed", "committed"]);
  await workspace.undo();
  expect(Object.keys(project.tree())).toEqual([]);
});

test("a transaction that is finished refuses, and an unknown one is not found", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const { id } = await workspace.beginTransaction();
  await workspace.commitTransaction(id);
  await expect(workspace.commitTransaction(id)).rejects.toMatchObject({ code: "REFUSED" });
  await expect(workspace.rollbackTransaction(id)).rejects.toMatchObject({ code: "REFUSED" });
  await expect(workspace.rollbackTransaction("feed")).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(workspace.beginTransaction({ name: "" })).rejects.toMatchObject({ code: "USAGE" });
});

test("actions are linked to the transaction that they are in", async () => {
  await using project = new Project();
  project.write("a.txt", "0\n");
  const workspace = await project.init();
  const outer = await workspace.beginTransaction();
  const ids: string[] = [];
  for (const text of ["1\n", "2\n"]) {
    await workspace.action({ type: "write_file", payload: { path: "a.txt" } }, (action) => {
      project.write("a.txt", text);
      ids.push(action?.id ?? "");
      expect(action?.transaction_id).toBe(outer.id);
    });
  }
  await workspace.commitTransaction(outer.id);
  const [shape] = await workspace.transactions();
  expect(shape?.snapshots).toEqual(ids);
  await workspace.undo();
  expect(project.read("a.txt")).toBe("0\n");
});

test("a transaction whose owner died is reported, and is rolled back by the next change", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  const workspace = await project.init();
  const pid = await deadPid();
  const alive = spawn("sleep", ["60"]);
  await once(alive, "spawn");
  const { id } = await workspace.beginTransaction({ pid: alive.pid ?? 0, name: "half" });
  project.write("a.txt", "half done\n");
  await workspace.snapshot();
  const ended = once(alive, "exit");
  alive.kill("SIGKILL");
  await ended;
  expect(pid).toBeGreaterThan(0);
  expect(await workspace.transactions()).toMatchObject([{ id, status: "active", orphaned: true }]);
  const { notes } = await workspace.status();
  expect(notes.join("\n")).toContain(`the transaction ${id.slice(0, 8)} (half) is active`);
  expect(project.read("a.txt")).toBe("half done\n");
  await workspace.snapshot();
  expect(project.read("a.txt")).toBe("before\n");
  expect(await workspace.transactions()).toMatchObject([{ id, status: "rolled_back" }]);
  await workspace.redo();
  expect(project.read("a.txt")).toBe("half done\n");
});

test("the automatic rollback undoes only recorded changes and names the others, and a rollback by id undoes all", async () => {
  for (const byName of [false, true]) {
    await using project = new Project();
    project.write("a.txt", "before\n");
    await (await project.init()).close();
    const told: string[] = [];
    const store = await project.store({ onNote: (note) => told.push(note) });
    const workspace = await store.open({ folder: project.folder });
    const { pid, kill } = await otherProcess();
    const { id } = await workspace.beginTransaction({ pid, name: "half" });
    project.write("a.txt", "recorded\n");
    await workspace.snapshot();
    project.write("late.txt", "not recorded\n");
    await kill();
    const { notes } = await workspace.status();
    expect(notes.join()).toContain(
      `\`chronicle transaction rollback ${id.slice(0, 8)}\` also takes back the changes that are not recorded yet`,
    );
    if (byName) {
      const { undo } = await workspace.rollbackTransaction(id);
      expect(undo.changes.map((one) => one.path)).toEqual(["a.txt", "late.txt"]);
      expect(told).toEqual([]);
    } else {
      await workspace.snapshot();
      expect(told).toEqual([
        expect.stringMatching(
          /\(half\) is gone: the transaction was rolled back, 1 path was changed; `chronicle redo`/,
        ),
      ]);
      expect(told.join()).toContain("; 1 path was NOT rolled back, since it was not recorded before the process died");
    }
    expect(project.read("a.txt")).toBe("before\n");
    expect(Object.keys(project.tree())).toEqual(byName ? ["a.txt"] : ["a.txt", "late.txt"]);
    await workspace.redo();
    expect(Object.keys(project.tree())).toEqual(["a.txt", "late.txt"]);
    expect(project.read("a.txt")).toBe("recorded\n");
    await workspace.close();
  }
});

test("of two callers that find a dead owner's transaction at once, one ends it, and both do what they were asked for", async () => {
  await using project = new Project();
  project.write("a.txt", "0\n");
  const one = await project.init();
  const two = await project.open();
  const gone = await deadPid();
  for (let i = 1; i <= 8; i += 1) {
    const { pid, kill } = await otherProcess();
    await one.beginTransaction({ pid, onOwnerDeath: i % 2 === 0 ? "keep" : "rollback" });
    project.write("a.txt", `${i}\n`);
    await one.snapshot();
    await kill();
    const request = { type: "write_file", payload: { path: "b.txt" }, pid: gone };
    const done = await Promise.all([one.snapshotAction(request), two.snapshotAction(request), two.snapshot()]);
    expect(done).not.toContain(null);
  }
  expect((await two.transactions()).map((each) => each.status)).toEqual(
    Array.from({ length: 4 }, () => ["rolled_back", "committed"]).flat(),
  );
  expect(project.read("a.txt")).toBe("8\n");
});

test("a dead owner's transaction is committed if it was begun so, and can be committed by its id before", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  const workspace = await project.init();
  const pid = await deadPid();
  const kept = await workspace.beginTransaction({ pid, onOwnerDeath: "keep" });
  project.write("a.txt", "kept\n");
  await workspace.snapshot();
  expect(await workspace.transactions()).toMatchObject([{ id: kept.id, status: "committed" }]);
  const named = await workspace.beginTransaction({ pid });
  await workspace.commitTransaction(named.id);
  expect((await workspace.transactions())[1]).toMatchObject({ id: named.id, status: "committed" });
  expect(project.read("a.txt")).toBe("kept\n");
});

test("a session's own transaction contains the session's actions, and no plain writes", async () => {
  await using project = new Project();
  project.write("a.txt", "0\n");
  const workspace = await project.init();
  const { id } = await workspace.beginTransaction({ session: "s1" });
  project.write("plain.txt", "somebody's\n");
  await workspace.action({ type: "write_file", payload: { path: "a.txt" }, session: "s1" }, () =>
    project.write("a.txt", "1\n"),
  );
  await workspace.action({ type: "write_file", payload: { path: "other.txt" }, session: "s2" }, () =>
    project.write("other.txt", "of another\n"),
  );
  await workspace.rollbackTransaction(id);
  expect(project.read("a.txt")).toBe("0\n");
  expect(Object.keys(project.tree())).toEqual(["a.txt", "other.txt", "plain.txt"]);
});

test("restores and undos in a transaction are rolled back with it", async () => {
  await using project = new Project();
  project.write("a.txt", "0\n");
  project.write("b.txt", "0\n");
  project.write("c.txt", "0\n");
  const workspace = await project.init();
  project.write("a.txt", "1\n");
  await workspace.snapshot();
  await workspace.action({ type: "write_file", payload: { path: "c.txt" } }, () => project.write("c.txt", "1\n"));
  const failed = workspace.transaction(async () => {
    await workspace.undo();
    expect(project.read("c.txt")).toBe("0\n");
    await workspace.action({ type: "write_file", payload: { path: "b.txt" } }, () => project.write("b.txt", "1\n"));
    await workspace.undo();
    expect(project.read("b.txt")).toBe("0\n");
    await workspace.restore("baseline");
    expect(project.read("a.txt")).toBe("0\n");
    project.write("a.txt", "2\n");
    throw new Error("no");
  });
  await expect(failed).rejects.toThrow("no");
  expect(["a.txt", "b.txt", "c.txt"].map((path) => project.read(path))).toEqual(["1\n", "0\n", "1\n"]);
});

test("what an undo in a transaction merged is rolled back with it, although the rest of the file did not merge", async () => {
  await using project = new Project();
  const text = (first: string, last: string): string => [first, "1", "2", "3", "4", "5", "6", last, ""].join("\n");
  project.write("a.txt", text("first", "last"));
  const workspace = await project.init();
  await workspace.action({ type: "write_file", payload: { path: "a.txt" } }, () =>
    project.write("a.txt", text("FIRST", "LAST")),
  );
  const action = (await workspace.operations())[0]?.id ?? "";
  const { id } = await workspace.beginTransaction();
  project.write("a.txt", text("third", "LAST"));
  const undone = await workspace.undo({ action });
  expect(undone.unmerged).toMatchObject([{ path: "a.txt" }]);
  expect(project.read("a.txt")).toBe(text("third", "last"));
  await workspace.rollbackTransaction(id);
  expect(project.read("a.txt")).toBe(text("FIRST", "LAST"));
});

test("a savepoint that was rolled back and redone is rolled back with the transaction around it", async () => {
  await using project = new Project();
  project.write("a.txt", "0\n");
  const workspace = await project.init();
  const outer = await workspace.beginTransaction();
  const inner = await workspace.beginTransaction();
  project.write("a.txt", "1\n");
  await workspace.rollbackTransaction(inner.id);
  await workspace.redo();
  expect(project.read("a.txt")).toBe("1\n");
  await workspace.rollbackTransaction(outer.id);
  expect(project.read("a.txt")).toBe("0\n");
});

test("a transaction that has rolled back all of its changes is no operation for undo", async () => {
  await using project = new Project();
  project.write("a.txt", "0\n");
  const workspace = await project.init();
  const outer = await workspace.beginTransaction();
  const inner = await workspace.beginTransaction();
  project.write("a.txt", "1\n");
  await workspace.rollbackTransaction(inner.id);
  await workspace.commitTransaction(outer.id);
  expect((await workspace.operations()).filter((one) => one.kind === "transaction")).toEqual([]);
});

test("a function's error is rethrown after its own rollback, and is the cause of REFUSED after its own commit", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const rolledBack = workspace.transaction(async ({ id }) => {
    await workspace.rollbackTransaction(id);
    throw new Error("mine");
  });
  await expect(rolledBack).rejects.toThrow("mine");
  const committed = workspace.transaction(async ({ id }) => {
    await workspace.commitTransaction(id);
    throw new Error("mine");
  });
  await expect(committed).rejects.toMatchObject({ code: "REFUSED", cause: { message: "mine" } });
});

test("a dry run of undo names a transaction whose owner is gone", async () => {
  await using project = new Project();
  const workspace = await project.init();
  project.write("a.txt", "1\n");
  await workspace.action({ type: "run_command", payload: { command: "true" } }, () => project.write("b.txt", "1\n"));
  const { id } = await workspace.beginTransaction({ pid: await deadPid() });
  const { notes } = await workspace.undo({ dryRun: true });
  expect(notes.join()).toContain(`the transaction ${id.slice(0, 8)} is active`);
});

test("undo and redo of a transaction leave out the work that was undone within it", async () => {
  await using project = new Project();
  project.write("dir/a.txt", "a\n");
  const workspace = await project.init();
  const { id } = await workspace.beginTransaction();
  const removing = await workspace.snapshotAction({ type: "delete_directory", payload: { path: "dir" } });
  project.remove("dir");
  await workspace.finishAction(removing?.id ?? "");
  const making = await workspace.snapshotAction({ type: "write_file", payload: { path: "dir/b.txt" } });
  project.write("dir/b.txt", "b\n");
  await workspace.finishAction(making?.id ?? "");
  await workspace.undo();
  project.write("c.txt", "c\n");
  await workspace.commitTransaction(id);
  const undone = await workspace.undo();
  expect(undone.changes.map((one) => one.path)).toEqual(["c.txt", "dir", "dir/a.txt"]);
  expect(Object.keys(project.tree())).toEqual(["dir", "dir/a.txt"]);
  await workspace.redo();
  expect(Object.keys(project.tree())).toEqual(["c.txt"]);
});

test("transactions whose owners die together are rolled back in reverse order, so that nothing of either stays", async () => {
  await using project = new Project();
  project.write("a.txt", "before\n");
  const workspace = await project.init();
  const [first, second] = [await otherProcess(), await otherProcess()];
  const edit = async (session: string, text: string): Promise<void> => {
    const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "a.txt" }, session });
    project.write("a.txt", text);
    await workspace.finishAction(action?.id ?? "");
  };
  await workspace.beginTransaction({ session: "agent-1", pid: first.pid });
  await edit("agent-1", "of the first\n");
  await workspace.beginTransaction({ session: "agent-2", pid: second.pid });
  await edit("agent-2", "of the second\n");
  await Promise.all([first.kill(), second.kill()]);
  await workspace.snapshot();
  expect(project.read("a.txt")).toBe("before\n");
  expect((await workspace.transactions()).map(({ status }) => status)).toEqual(["rolled_back", "rolled_back"]);
});
