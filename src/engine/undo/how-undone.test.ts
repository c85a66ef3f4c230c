import { expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";

/** Records a turn of an agent that writes two files, one of them in two hunks. */
async function turnIn(project: Project): Promise<WorkspaceApi> {
  const lines = Array.from({ length: 20 }, (_, i) => `line ${i}`);
  project.write("a.txt", `${lines.join("\n")}\n`);
  const workspace = await project.init();
  const of = { actor: "claude", session: "s", turn: "t1" };
  await workspace.startTurn({ ...of, prompt: "Write more notes" });
  const changed = lines.map((line, i) => (i === 2 || i === 16 ? `${line}, changed` : line));
  await workspace.action({ type: "write_file", payload: { path: "a.txt" }, ...of }, () =>
    project.write("a.txt", `${changed.join("\n")}\n`),
  );
  await workspace.action({ type: "write_file", payload: { path: "b.txt" }, ...of }, () =>
    project.write("b.txt", "b\n"),
  );
  return workspace;
}

/** Returns how the turn is described in the list and in its changes. */
async function said(workspace: WorkspaceApi): Promise<unknown[]> {
  const { items } = await workspace.recent();
  const { undone, partly_undone: part } = items.find(({ id }) => id === "t1") ?? {};
  const changes = await workspace.changes({ turn: "t1" });
  return [undone ?? false, part ?? false, changes.undone];
}

const NO = [false, false, "no"];
const PART = [false, true, "part"];
const YES = [true, false, "yes"];

it("a turn is partly undone once a file of it is, and undone once all of it is", async () => {
  await using project = new Project();
  const workspace = await turnIn(project);
  expect(await said(workspace)).toEqual(NO);
  const { undo_id: first } = await workspace.undo({ turn: "t1", file: "b.txt" });
  expect(await said(workspace)).toEqual(PART);
  await workspace.redo({ operation: first ?? "" });
  expect(await said(workspace)).toEqual(NO);
  await workspace.undo({ turn: "t1", file: "b.txt" });
  await workspace.undo({ turn: "t1" });
  expect(await said(workspace)).toEqual(YES);
});

it("a turn is partly undone once a hunk of it is, and other work is not", async () => {
  await using project = new Project();
  const workspace = await turnIn(project);
  const of = { actor: "claude", session: "s", turn: "t2" };
  await workspace.action({ type: "write_file", payload: { path: "c.txt" }, ...of }, () =>
    project.write("c.txt", "c\n"),
  );
  await workspace.undo({ turn: "t1", file: "a.txt", fromLine: 3 });
  expect(project.read("a.txt")).toContain("line 2\n");
  expect(await said(workspace)).toEqual(PART);
  const { items } = await workspace.recent();
  expect(items.filter(({ partly_undone: part }) => part === true).map(({ id }) => id)).toEqual(["t1"]);
});

it("a turn is partly undone once one of its actions is, and a run once one of its files is", async () => {
  await using project = new Project();
  const workspace = await turnIn(project);
  const [action] = await workspace.list();
  await workspace.undo({ operation: action?.id ?? "" });
  expect(await said(workspace)).toEqual(PART);
  await workspace.run({ command: ["sh", "-c", "echo 1 > one; echo 2 > two"] });
  await workspace.undo({ file: "two" });
  const { items } = await workspace.recent();
  expect(items.find(({ kind }) => kind === "run")).toMatchObject({ partly_undone: true });
});

it("an undo and its redo are named by what was asked for, and for agents by the turn's first action", async () => {
  await using project = new Project();
  const workspace = await turnIn(project);
  await workspace.undo({ turn: "t1", file: "b.txt" });
  await workspace.redo();
  await workspace.undo({ session: "s" });
  const titles = async (of: WorkspaceApi): Promise<string[]> =>
    (await of.recent(3)).items.map(({ summary }) => summary);
  expect(await titles(workspace)).toEqual([
    "undo of the session of claude",
    "redo of “Write more notes” in b.txt",
    "undo of “Write more notes” in b.txt",
  ]);
  expect((await titles(workspace.as({ role: "agent", actor: "claude" }))).slice(1)).toEqual([
    "redo of “write_file: a.txt” in b.txt",
    "undo of “write_file: a.txt” in b.txt",
  ]);
  expect((await workspace.recent(9, { grep: "of “write more", kind: "undo" })).items).toHaveLength(1);
});

it("an undo is named by the prompt of its own session, if two sessions have turns of the same id", async () => {
  await using project = new Project();
  const workspace = await project.init();
  for (const session of ["a", "b"]) {
    const of = { actor: "claude", session, turn: "1" };
    await workspace.startTurn({ ...of, prompt: `Write ${session}` });
    for (const path of [`${session}1`, `${session}2`])
      await workspace.action({ type: "write_file", payload: { path }, ...of }, () => project.write(path, session));
  }
  await workspace.undo({ turn: "1", session: "a", file: "a1" });
  await workspace.undo({ turn: "1", session: "a" });
  await workspace.undo({ rewind: "b:1" });
  const { items } = await workspace.recent(3);
  expect(items.map(({ summary }) => summary)).toEqual([
    "undo of “Write b” and later",
    "undo of “Write a”",
    "undo of “Write a” in a1",
  ]);
  const ofAgent = await workspace.as({ role: "agent", actor: "claude" }).recent(3);
  expect(ofAgent.items[1]?.summary).toBe("undo of “write_file: a1”");
});
