import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ended, Sandbox } from "./sandbox.ts";

function read(box: Sandbox, path: string): string {
  return readFileSync(join(box.project, path), "utf8");
}

it("begin prints an id; rollback without one means the innermost", () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const begun = box.run(["transaction", "begin", "--name", "refactoring"]);
  expect(begun.stdout).toMatch(/^[0-9a-f-]{36}\n$/);
  const id = begun.stdout.trim();
  box.write("a.txt", "after\n");
  box.write("b.txt", "new\n");
  expect(box.run(["transaction", "list"]).stdout).toMatch(/active +0 actions +refactoring/);
  const back = box.run(["transaction", "rollback"]);
  expect(back.code).toBe(0);
  expect(back.stdout).toContain(`rolled back ${id.slice(0, 8)} (refactoring)\n`);
  expect(back.stdout).toContain("taken back: 1 modified, 1 deleted\n");
  expect(read(box, "a.txt")).toBe("before\n");
  expect(existsSync(join(box.project, "b.txt"))).toBe(false);
  expect(box.run(["redo", "--yes"]).code).toBe(0);
  expect(read(box, "a.txt")).toBe("after\n");
  const shapes = JSON.parse(box.run(["transaction", "list", "--json"]).stdout) as unknown;
  expect(shapes).toMatchObject([{ id, status: "rolled_back", name: "refactoring", snapshots: [] }]);
});

it("commit keeps it all, and undo takes it back as one", () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const id = box.run(["transaction", "begin"]).stdout.trim();
  box.write("a.txt", "after\n");
  const done = box.run(["transaction", "commit", id.slice(0, 6)]);
  expect(done.stdout).toBe(`committed ${id.slice(0, 8)}: 0 actions; chronicle undo takes it back\n`);
  expect(box.run(["undo", "--yes"]).stdout).toContain("transaction: transaction ");
  expect(read(box, "a.txt")).toBe("before\n");
});

it("what cannot be done is said, with what to do", () => {
  using box = new Sandbox();
  box.write("a.txt", "x");
  box.run(["init"]);
  expect(box.run(["transaction", "commit"])).toMatchObject({ code: 3 });
  expect(box.run(["transaction", "commit", "feed"]).stderr).toContain("chronicle transaction list");
  expect(box.run(["transaction", "frobnicate"])).toMatchObject({ code: 2 });
  expect(box.run(["transaction", "begin", "extra"])).toMatchObject({ code: 2 });
  const id = box.run(["transaction", "begin"]).stdout.trim();
  box.run(["transaction", "commit", id]);
  const again = box.run(["transaction", "rollback", id]);
  expect(again.code).not.toBe(0);
  expect(again.stderr).toContain("was committed already");
  expect(again.stderr).toContain("chronicle undo");
});

it("one that was tied to a process is rolled back when that is killed", async () => {
  using box = new Sandbox();
  box.write("a.txt", "before\n");
  const owner = spawn("sleep", ["60"]);
  box.run(["transaction", "begin", "--pid", String(owner.pid)]);
  box.write("a.txt", "half done\n");
  box.run(["snapshot"]);
  expect(read(box, "a.txt")).toBe("half done\n");
  owner.kill("SIGKILL");
  await ended(owner);
  expect(box.run(["status"]).stdout + box.run(["status"]).stderr).toContain("that began it is gone");
  expect(read(box, "a.txt")).toBe("half done\n");
  box.run(["snapshot"]);
  expect(read(box, "a.txt")).toBe("before\n");
});
