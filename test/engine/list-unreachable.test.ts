import { renameSync, rmSync, symlinkSync } from "node:fs";
import { expect, test } from "vitest";
import { Project } from "../helpers/project.ts";

test("a workspace whose folder cannot be reached is listed as present", async () => {
  await using project = new Project();
  project.write("box/inner/a", "1\n");
  project.write("other/b", "2\n");
  const store = await project.store();
  for (const name of ["box/inner", "other"]) await (await store.init({ roots: [project.at(name)] })).workspace.close();
  renameSync(project.at("box"), project.at("moved"));
  // A path through this link ends with ELOOP for every user.
  symlinkSync("box", project.at("box"));
  const listed = await store.workspaces();
  expect(new Map(listed.map(({ path, present }) => [path.split("/").at(-1), present]))).toEqual(
    new Map([
      ["inner", true],
      ["other", true],
    ]),
  );
  rmSync(project.at("box"));
  expect((await store.workspaces()).filter(({ present }) => present)).toHaveLength(1);
  await store.close();
});
