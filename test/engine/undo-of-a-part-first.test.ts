import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** A part of some work is undone first. A later part wrote the same as it had, so the file is as that part left it. */

/** Five lines, of which the second and the fourth are not next to each other. */
function lines(second: string, fourth: string): string {
  return `1\n${second}\n3\n${fourth}\n5\n`;
}

async function edits(project: Project, ...texts: readonly string[]): Promise<[WorkspaceApi, string[]]> {
  project.write("b", lines("a", "e"));
  const workspace = await project.init();
  const ids: string[] = [];
  for (const text of texts) {
    const action = { type: "edit", session: "s" };
    await workspace.action(action, (begun) => {
      project.write("b", text);
      ids.push(begun?.id ?? "");
    });
  }
  return [workspace, ids];
}

/** The second and the fourth edit write the same; between the third and the fourth, a run is undone. */
async function sameTwice(project: Project): Promise<[WorkspaceApi, string]> {
  const [workspace, [, second = ""]] = await edits(project, "x\n", "y\n", "x\n");
  await workspace.run({ command: ["sh", "-c", "echo z > b"] });
  await workspace.undo();
  await workspace.action({ type: "edit", session: "s" }, () => project.write("b", "y\n"));
  return [workspace, second];
}

it("the rest is undone to the state before all of it", async () => {
  await using project = new Project();
  const [workspace, second] = await sameTwice(project);
  await workspace.undo({ action: second });
  expect(project.read("b")).toBe("x\n");
  const undone = await workspace.undo({ session: "s" });
  expect([project.read("b"), undone.unmerged]).toEqual([lines("a", "e"), []]);
  await workspace.redo();
  expect(project.read("b")).toBe("x\n");
  const again = await workspace.undo();
  expect([project.read("b"), again.unmerged]).toEqual([lines("a", "e"), []]);
  expect(await workspace.verify()).toMatchObject({ ok: true });
});

it("also where the part was undone as an operation", async () => {
  await using project = new Project();
  const [workspace, second] = await sameTwice(project);
  await workspace.undo({ operation: second });
  const undone = await workspace.undo({ session: "s" });
  expect([project.read("b"), undone.unmerged]).toEqual([lines("a", "e"), []]);
});

it("what others wrote between the part and its undo stays", async () => {
  await using project = new Project();
  const [workspace, [, second = ""]] = await edits(project, lines("A", "e"), lines("A", "E"));
  project.write("b", `other\n${lines("A", "E")}`);
  await workspace.run({ command: ["true"] });
  await workspace.undo({ action: second });
  expect(project.read("b")).toBe(`other\n${lines("A", "e")}`);
  const undone = await workspace.undo({ session: "s" });
  expect([project.read("b"), undone.unmerged]).toEqual([`other\n${lines("a", "e")}`, []]);
});

it("later edits of the lines that the undo of the part wrote stay", async () => {
  await using project = new Project();
  const [workspace, [, second = ""]] = await edits(project, lines("A", "e"), lines("A", "E"));
  await workspace.undo({ action: second });
  project.write("b", lines("A", "edited"));
  const undone = await workspace.undo({ session: "s" });
  expect([project.read("b"), undone.unmerged]).toEqual([lines("a", "edited"), []]);
});
