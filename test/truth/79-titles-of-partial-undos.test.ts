import { expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

it("Truth 79: an undo of the rest of an operation has the operation's words as its title, and so has its redo", async () => {
  await using project = new Project();
  for (const name of ["a", "b"]) project.write(name, "before\n");
  const workspace = await project.init();
  await workspace.run({ command: ["sh", "-c", "echo after > a; echo after > b"], cwd: project.folder });
  await workspace.undo({ file: "a" });
  const title = async () => (await workspace.operations()).at(-1)?.summary;
  expect(await title()).toBe("undo of file a");
  const run = (await workspace.operations()).find(({ kind }) => kind === "run");
  const { changes, selection } = await workspace.undo({ operation: run?.id ?? "" });
  expect([changes.map(({ path }) => path), selection]).toEqual([["b"], `operation ${run?.id}`]);
  const words = `run: ${run?.summary}`;
  expect(await title()).toBe(`undo of ${words}`);
  await workspace.redo();
  expect(await title()).toBe(`redo of ${words}`);
  await workspace.undo();
  expect([await title(), project.read("a"), project.read("b")]).toEqual([`undo of ${words}`, "before\n", "before\n"]);
});
