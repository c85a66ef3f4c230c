import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Project } from "../helpers/project.ts";

/** A log whose first commit is damaged, while the index is gone. */

function damage(project: Project, line: number): void {
  const [log = ""] = globSync(join(project.home, "workspaces/*/events.wal"));
  const lines = readFileSync(log, "utf8").split("\n");
  lines[line - 1] = (lines[line - 1] ?? "").replace(`"recursion_depth":0`, `"recursion_depth":1`);
  writeFileSync(log, lines.join("\n"));
  for (const file of globSync(join(project.home, "workspaces/*/index.db*"))) rmSync(file);
}

test.each([2, 3])(
  "line %d: verify names the line, restore and snapshot are refused, and no earlier state is promised",
  async (line) => {
    await using project = new Project();
    project.write("a", "a\n");
    const workspace = await project.init();
    await workspace.close();
    damage(project, line);
    const opened = await project.open();
    const { ok, problems } = await opened.verify();
    expect([ok, problems[0]?.kind, problems[0]?.where]).toEqual([false, "line-bad-hash", `events.wal:${line}`]);
    const refused = { code: "LOG_DAMAGED", hint: expect.stringContaining("no earlier state can be read") };
    await expect(opened.restore("0", { to: join(project.base, "out") })).rejects.toMatchObject(refused);
    await expect(opened.snapshot()).rejects.toMatchObject({ code: "LOG_DAMAGED" });
    expect(project.read("a")).toBe("a\n");
  },
);

test("line 1: the workspace cannot be opened, and the hint does not name verify", async () => {
  await using project = new Project();
  project.write("a", "a\n");
  const workspace = await project.init();
  await workspace.close();
  damage(project, 1);
  await expect(project.open()).rejects.toMatchObject({
    code: "LOG_DAMAGED",
    hint: expect.not.stringContaining("verify"),
  });
});
