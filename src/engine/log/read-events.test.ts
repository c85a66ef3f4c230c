import { appendFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

test("a torn tail of several lines after the head does not disturb a read up to the head", async () => {
  await using project = new Project();
  project.write("f", "1\n");
  const workspace = await project.init();
  const write = { type: "write_file", payload: { path: "f" }, session: "s" };
  await workspace.action(write, () => project.write("f", "2\n"));
  await workspace.close();
  appendFileSync(join(project.home, "workspaces", workspace.id, "events.wal"), '{"hash":"0123\n\0\0\n{"ha');
  const next = await project.open({ readOnly: true });
  expect((await next.changes({ session: "s" })).changes.map((one) => one.path)).toEqual(["f"]);
  expect((await next.undo({ session: "s", dryRun: true })).changes.map((one) => one.path)).toEqual(["f"]);
});
