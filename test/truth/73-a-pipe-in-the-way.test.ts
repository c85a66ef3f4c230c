import { expect, test } from "vitest";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { ClockedProject } from "../helpers/clocked-project.ts";

/** If a pipe has taken the place of a file or a folder, undo says so, and the command that it names works later. */

const CASES = [
  ["a.txt", "rm a.txt; mkfifo a.txt", ["a.txt"]],
  ["d", "rm -r d; mkfifo d", ["d", "d/x"]],
] as const;

test.each(CASES)(
  "undo leaves a pipe in the place of a recorded path, and the undo that it names works once the pipe is gone: %s",
  async (pipe, script, left) => {
    await using project = new ClockedProject();
    project.write("a.txt", "a");
    project.write("b.txt", "b");
    project.write("d/x", "x");
    const workspace = await project.init();
    await workspace.run({ command: ["sh", "-c", `${script}; echo 2 > b.txt`] });
    const plan = await workspace.undo({ dryRun: true });
    const done = await workspace.undo();
    const told = left.map((path) => ({
      path,
      reason: "special",
      detail: expect.stringContaining("move it away first"),
    }));
    expect(done.skipped).toMatchObject(told);
    expect(plan.skipped).toMatchObject(told);
    expect(done.notes.join()).not.toContain("changed meanwhile");
    expect(project.read("b.txt")).toBe("b");
    const [, id = ""] = /`chronicle undo ([0-9a-f]+)`/.exec(done.notes.join()) ?? [];
    expect(id).not.toBe("");
    rmSync(join(project.folder, pipe));
    expect((await workspace.undo({ operation: id })).skipped).toEqual([]);
    expect([project.read("a.txt"), project.read("d/x")]).toEqual(["a", "x"]);
  },
);

test("a restore that a pipe prevents says so, and works once the pipe is gone", async () => {
  await using project = new ClockedProject();
  project.write("a.txt", "a");
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "rm a.txt; mkfifo a.txt"] });
  await expect(workspace.restore("0")).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining("a.txt (special: a pipe, a socket or a device is in its place"),
  });
  rmSync(join(project.folder, "a.txt"));
  await workspace.restore("0");
  expect(project.read("a.txt")).toBe("a");
});
