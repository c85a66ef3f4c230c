import { globSync, readFileSync, statSync } from "node:fs";
import { expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** Closing a database costs four syncs, so the process of a command leaves its databases open at its end. */

it("a command leaves its write-ahead logs behind, and the next command continues from them", () => {
  using box = new Sandbox();
  box.write("a", "1\n");
  box.run(["init"]);
  box.write("a", "2\n");
  expect(box.run(["snapshot"]).code).toBe(0);
  const logs = globSync("**/index.db-wal", { cwd: box.store }).map((path) => statSync(`${box.store}/${path}`).size);
  expect(logs.length).toBe(2);
  for (const size of logs) expect(size).toBeGreaterThan(0);
  box.write("a", "3\n");
  expect(box.run(["snapshot"]).code).toBe(0);
  expect(box.run(["verify"]).stdout).toContain("ok:");
  expect(box.run(["undo", "--file", "a"]).code).toBe(0);
  expect(readFileSync(`${box.project}/a`, "utf8")).toBe("1\n");
});

it("a command that leaves its databases open has the right exit code and its whole output", () => {
  using box = new Sandbox();
  for (let i = 0; i < 2_000; i += 1) box.write(`long-name-of-a-file-that-is-listed-${i}`, "");
  box.run(["init"]);
  const listed = box.run(["files"]);
  expect(listed.code).toBe(0);
  expect(listed.stdout.trimEnd().split("\n").length).toBeGreaterThanOrEqual(2_000);
  expect(box.run(["cat", "nosuch"]).code).toBe(3);
  expect(box.run(["run", "--", "sh", "-c", "exit 7"]).code).toBe(7);
});
