import { join } from "node:path";
import { expect, test } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

test("the summary of a move names its source and its destination", async () => {
  await using project = new Project();
  for (const path of ["a", "b", "x", "y"]) project.write(path, path);
  project.link("link", "a");
  const workspace = await project.init();
  const out = join(project.base, "out.txt");
  const summary = async (type: string, payload: Readonly<Record<string, unknown>>) =>
    (await workspace.snapshotAction({ type, payload }))?.action_summary;
  expect(await summary("move_file", { source: out, destination: "in.txt" })).toBe(`move_file: ${out} → in.txt`);
  expect(await summary("move_file", { source: "a", destination: out })).toBe(`move_file: a → ${out}`);
  expect(await summary("move_directory", { path: "a", destination: "c" })).toBe("move_directory: a → c");
  const several = { paths: ["x", "y", "a"], source: "a", destination: project.at("c") };
  expect(await summary("move_file", several)).toBe("move_file: a → c and 2 more");
  // A copy changes only its destination.
  expect(await summary("copy_file", several)).toBe("copy_file: x and 3 more");
  // The target of the link is touched, too.
  expect(await summary("move_file", { source: "link", destination: "b" })).toBe("move_file: link → b");
  expect(await summary("rename", { source: "y", destination: "b" })).toBe("rename: y → b");
});

test.each([0, -1, 1.5, Number.NaN])("%d is refused as the id of a process", async (pid) => {
  await using project = new Project();
  project.write("a", "1");
  const workspace = await project.init();
  const refusal = { code: "USAGE" };
  const request = { type: "write_file", payload: { path: "a" }, pid };
  await expect(workspace.snapshotAction(request)).rejects.toMatchObject(refusal);
  await expect(workspace.startSession({ id: "s", pid })).rejects.toMatchObject(refusal);
  await expect(workspace.beginTransaction({ pid })).rejects.toMatchObject(refusal);
  expect(await workspace.sessions()).toEqual([]);
});
