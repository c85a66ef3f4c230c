import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

it("while another process holds the lock, writes exit with 5 after --wait, run with 125, and reads work", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n");
  // The commands run in processes of their own, because one process must not open an SQLite file twice.
  expect(box.run(["init"]).code).toBe(0);
  box.write("a.txt", "two\n");
  const [id = ""] = readdirSync(join(box.store, "workspaces"));
  const holder = new DatabaseSync(join(box.store, "workspaces", id, "lock.db"));
  holder.exec("BEGIN EXCLUSIVE");
  const started = performance.now();
  const refused = box.run(["--wait", "0.3", "snapshot"]);
  expect(performance.now() - started).toBeGreaterThan(300);
  expect([refused.code, refused.stdout]).toEqual([5, ""]);
  expect(refused.stderr).toContain("held by");
  expect(JSON.parse(box.run(["--wait", "0", "--json", "snapshot"]).stdout)).toMatchObject({
    error: { code: "LOCKED" },
  });
  expect(box.run(["--wait", "0", "run", "--", "touch", "never"]).code).toBe(125);
  expect(readdirSync(box.project)).toEqual(["a.txt"]);
  for (const words of [
    ["status"],
    ["diff"],
    ["list"],
    ["cat", "a.txt"],
    ["log"],
    ["head"],
    ["restore", "0", "--dry-run"],
  ]) {
    expect([words, box.run(["--wait", "0", ...words]).code]).toEqual([words, 0]);
  }
  holder.exec("ROLLBACK");
  holder.close();
  expect(box.run(["snapshot"]).code).toBe(0);
});
