import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** A part of some work is undone before the rest, for example where a later part wrote the same content again. */

/** Five lines. Edits of the second and the fourth merge, because these lines are not next to each other. */
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

it("undo of a session goes back to the state before it, if one of its actions was undone first", async () => {
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

it("undo of a session goes back to the state before it, if one of its actions was undone as an operation", async () => {
  await using project = new Project();
  const [workspace, second] = await sameTwice(project);
  await workspace.undo({ operation: second });
  const undone = await workspace.undo({ session: "s" });
  expect([project.read("b"), undone.unmerged]).toEqual([lines("a", "e"), []]);
});

it("what others wrote between an action and its undo stays when the session is undone", async () => {
  await using project = new Project();
  const [workspace, [, second = ""]] = await edits(project, lines("A", "e"), lines("A", "E"));
  project.write("b", `other\n${lines("A", "E")}`);
  await workspace.run({ command: ["true"] });
  await workspace.undo({ action: second });
  expect(project.read("b")).toBe(`other\n${lines("A", "e")}`);
  const undone = await workspace.undo({ session: "s" });
  expect([project.read("b"), undone.unmerged]).toEqual([`other\n${lines("a", "e")}`, []]);
});

it("later edits of the lines that the undo of an action wrote stay when the session is undone", async () => {
  await using project = new Project();
  const [workspace, [, second = ""]] = await edits(project, lines("A", "e"), lines("A", "E"));
  await workspace.undo({ action: second });
  project.write("b", lines("A", "edited"));
  const undone = await workspace.undo({ session: "s" });
  expect([project.read("b"), undone.unmerged]).toEqual([lines("a", "edited"), []]);
});

interface Deed {
  readonly session?: string;
  readonly turn?: string;
  readonly files: Readonly<Record<string, string | Buffer>>;
}

async function act(project: Project, workspace: WorkspaceApi, { session = "s", turn, files }: Deed): Promise<string> {
  const action = { type: "edit", session, ...(turn === undefined ? {} : { turn }) };
  return workspace.action(action, (begun) => {
    for (const [path, text] of Object.entries(files)) project.write(path, text);
    return begun?.id ?? "";
  });
}

describe("a turn whose undo changes nothing in a file, because a later turn had reversed it", () => {
  const plain = lines("a", "b");

  it.each([
    [`e\n${plain}`, plain, lines("a", "B"), plain],
    [lines("A", "b"), undefined, plain, lines("a", "B"), plain],
  ])("does not come back with the undo of the session: %j", async (first, othersFirst, ...rest) => {
    await using project = new Project();
    project.write("b", plain);
    const workspace = await project.init();
    const others = async (text: string): Promise<void> => {
      project.write("b", text);
      await workspace.snapshot();
    };
    await act(project, workspace, { turn: "t1", files: { b: first } });
    if (othersFirst === undefined) {
      const [reversed = "", second = "", end = ""] = rest;
      await act(project, workspace, { turn: "t2", files: { b: reversed } });
      await act(project, workspace, { turn: "t1", files: { b: second } });
      await others(end);
    } else {
      const [second = "", reversed = ""] = rest;
      await others(othersFirst);
      await act(project, workspace, { turn: "t1", files: { b: second } });
      await act(project, workspace, { turn: "t2", files: { b: reversed } });
    }
    await act(project, workspace, { turn: "t1", files: { c: "z\n" } });
    await workspace.undo({ turn: "t1" });
    expect(project.read("b")).toBe(plain);
    const undone = await workspace.undo({ session: "s" });
    expect([project.read("b"), undone.unmerged]).toEqual([plain, []]);
  });
});

it("a file that was excluded before a run stays, though the creation of an earlier file of its name was undone", async () => {
  await using project = new Project();
  project.write("keep", "1\n");
  const workspace = await project.init();
  await workspace.undo({ action: await act(project, workspace, { files: { "p.log": "made\n" } }) });
  project.write(".gitignore", "*.log\n");
  await workspace.snapshot();
  project.write("p.log", "precious\n");
  await workspace.snapshot();
  const { session } = await workspace.run({ command: ["sh", "-c", "rm .gitignore"] });
  const { skipped } = await workspace.undo({ session: session.session_id });
  expect(skipped).toMatchObject([{ path: "p.log", reason: "unseen" }]);
  expect(project.read("p.log")).toBe("precious\n");
});

it("a database goes back to its state before the work, though others wrote beside it after an undo", async () => {
  const database = (fill: string): Buffer =>
    Buffer.concat([Buffer.from("SQLite format 3\0", "latin1"), Buffer.alloc(496, fill)]);
  await using project = new Project();
  project.write("x.db", database("a"));
  const workspace = await project.init();
  const other = await act(project, workspace, { session: "other", files: { "x.db": database("b") } });
  await workspace.undo({ action: other });
  project.write("x.db-wal", "others\n");
  await workspace.snapshot();
  await act(project, workspace, { files: { "x.db": database("c") } });
  await workspace.undo({ session: "s" });
  expect(project.read("x.db")).toBe(database("a").toString());
});

it("a state of the session that others put back meanwhile is no conflict when the session is undone", async () => {
  await using project = new Project();
  project.write("b", lines("a", "b"));
  const workspace = await project.init();
  await act(project, workspace, { files: { b: "x\n" } });
  await workspace.run({ command: ["sh", "-c", "echo run > b"] });
  await workspace.undo();
  await act(project, workspace, { files: { b: "y\n" } });
  project.write("b", "x\n");
  await workspace.snapshot();
  await act(project, workspace, { files: { b: "z\n" } });
  const { unmerged } = await workspace.undo({ session: "s" });
  expect([project.read("b"), unmerged]).toEqual([lines("a", "b"), []]);
});
