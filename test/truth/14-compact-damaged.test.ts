import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("Truth 14: no base is made of a history that cannot be read to its end", async () => {
  await using project = new Project();
  project.write("a", "1");
  const workspace = await project.init();
  for (const text of ["2", "3", "4"]) {
    project.write("a", text);
    await workspace.snapshot();
  }
  const folder = join(project.home, "workspaces", workspace.id);
  const log = join(folder, "events.wal");
  const lines = readFileSync(log, "utf8").split("\n");
  const at = lines.findIndex((line) => line.includes('"record_id":"file:a"'));
  const rotten = lines.map((line, i) => (i === at ? line.replace('"size":1', '"size":9') : line)).join("\n");
  expect(rotten).not.toBe(lines.join("\n"));
  writeFileSync(log, rotten);
  await expect(workspace.compact()).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining(`events.wal:${at + 1}`),
  });
  expect(readFileSync(log, "utf8")).toBe(rotten);
  expect(readdirSync(folder)).not.toContain("archive");
  writeFileSync(log, lines.join("\n"));
  await workspace.compact();
  expect((await workspace.verify()).problems).toEqual([]);
});
