import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** The output of a command cannot be written, as on a full disk. */

test("a command whose output cannot be written is carried out, exits with 1, and reports the error", async () => {
  using box = new Sandbox();
  box.write("a", "one\n");
  await box.call(["init"]);
  box.write("a", "two\n");
  await box.call(["run", "--", "sh", "-c", "echo three > a"]);
  const full = openSync("/dev/full", "w");
  const call = (...words: string[]) => {
    const [node = "", main = ""] = box.command;
    const options = {
      cwd: box.project,
      env: box.env(),
      stdio: ["ignore", full, "pipe"] as const,
      encoding: "utf8",
    } as const;
    return spawnSync(node, [main, ...words], { ...options, stdio: [...options.stdio] });
  };
  for (const words of [["status"], ["status", "--json"], ["cat", "a"], ["undo", "--yes"]]) {
    const { status, stderr } = call(...words);
    expect([words, status]).toEqual([words, 1]);
    expect(stderr).toContain("chronicle: the answer could not be written: ENOSPC");
    expect(stderr).not.toMatch(/\n +at /);
  }
  // Another failure keeps its own code.
  expect(call("cat", "nothing").status).toBe(3);
  closeSync(full);
  expect(readFileSync(join(box.project, "a"), "utf8")).toBe("two\n");
});
