import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { Project } from "../../../test/helpers/project.ts";

const LINES = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""].join("\n");

function edit(project: Project, from: string, to: string): void {
  project.write("f", project.read("f").replace(`${from}\n`, `${to}\n`));
}

/** Lets an agent edit a line of `f` in a turn. Returns the action's id. */
async function act(project: Project, workspace: WorkspaceApi, { turn, line }: { turn: string; line: string }) {
  const request = { type: "write_file", payload: { path: "f" }, session: "s", turn };
  return workspace.action(request, (action) => {
    edit(project, line, `${line} by ${turn}`);
    return action?.id ?? "";
  });
}

/**
 * A history: turn t1, a run, a person's edit, turn t2 and its undo, turn t3 and a restore of a file. Returns the id of
 * the run.
 */
async function history(project: Project, workspace: WorkspaceApi): Promise<string> {
  await act(project, workspace, { turn: "t1", line: "1" });
  const { session } = await workspace.run({ command: ["sh", "-c", "sed -i s/^3$/three/ f; echo made > made"] });
  edit(project, "5", "five by a person");
  project.write("mine", "mine\n");
  await workspace.snapshot();
  await act(project, workspace, { turn: "t2", line: "7" });
  await workspace.undo();
  await act(project, workspace, { turn: "t3", line: "9" });
  project.write("g", "g by a person\n");
  await workspace.restore("baseline", { paths: ["g"] });
  return session.session_id;
}

async function begun(project: Project): Promise<WorkspaceApi> {
  project.write("f", LINES);
  project.write("g", "g\n");
  return project.init();
}

it("takes back a run and all recorded work after it, keeps people's edits, and one redo brings all back", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  const run = await history(project, workspace);
  const before = project.tree();
  const would = await workspace.undo({ to: run, dryRun: true });
  expect(project.tree()).toEqual(before);
  const done = await workspace.undo({ to: run });
  expect([done.unmerged, done.skipped, done.notes, done.pieces, would.pieces]).toEqual([[], [], [], 4, 4]);
  expect(would.changes.map(({ path, after_hash: hash }) => [path, hash])).toEqual(
    done.changes.map(({ path, after_hash: hash }) => [path, hash]),
  );
  expect(project.read("f")).toBe(LINES.replace("1", "1 by t1").replace("5", "five by a person"));
  expect(project.read("g")).toBe("g by a person\n");
  expect(Object.keys(project.tree())).toEqual(["f", "g", "mine"]);
  const undone = (await workspace.operations()).filter((one) => one.undone).map(({ kind }) => kind);
  expect(undone).toEqual(["run", "action", "action", "restore"]);
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  await workspace.undo();
  expect(project.read("f")).toBe(LINES.replace("1", "1 by t1").replace("5", "five by a person"));
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  expect((await workspace.verify()).problems).toEqual([]);
});

it("takes a turn, an action or a moment, and `since` takes people's edits back, too", async () => {
  for (const to of ["t2", "baseline", "action"] as const) {
    await using project = new Project();
    const workspace = await begun(project);
    await history(project, workspace);
    const [action] = (await workspace.operations()).filter(({ kind }) => kind === "action").slice(2);
    await workspace.undo({ to: to === "action" ? (action?.id ?? "") : to });
    const edits = LINES.replace("5", "five by a person");
    const work = to === "baseline" ? edits : edits.replace("1", "1 by t1").replace("3", "three");
    expect(project.read("f")).toBe(work);
    expect(project.read("mine")).toBe("mine\n");
  }
  await using project = new Project();
  const workspace = await begun(project);
  await history(project, workspace);
  await workspace.undo({ since: "baseline" });
  expect(Object.keys(project.tree())).toEqual(["f", "g"]);
  expect(project.read("f")).toBe(LINES);
});

it("leaves what does not merge with a person's edit as a conflict, and does the rest", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  await act(project, workspace, { turn: "t1", line: "1" });
  await act(project, workspace, { turn: "t2", line: "9" });
  edit(project, "1 by t1", "mine");
  const done = await workspace.undo({ to: "t1" });
  expect(done.unmerged.map(({ path }) => path)).toEqual(["f"]);
  expect(project.read("f")).toBe(LINES.replace("1", "mine"));
  await workspace.redo();
  expect(project.read("f")).toBe(LINES.replace("1", "mine").replace("9", "9 by t2"));
});

it("is NOT_FOUND for a name that is neither a moment nor a turn, and does nothing after the last work", async () => {
  await using project = new Project();
  const workspace = await begun(project);
  await expect(workspace.undo({ to: "no such" })).rejects.toMatchObject({ code: "USAGE" });
  await act(project, workspace, { turn: "t1", line: "1" });
  await expect(workspace.undo({ to: "ffffffff" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await workspace.snapshot({ name: "here" });
  edit(project, "5", "mine");
  const done = await workspace.undo({ to: "here" });
  expect([done.changes, done.undo_id, done.pieces]).toEqual([[], null, 0]);
  await expect(workspace.undo({ to: "here", since: "here" })).rejects.toMatchObject({ code: "USAGE" });
  expect((await workspace.changes({ to: "t1" })).changes.map(({ path }) => path)).toEqual(["f"]);
});

it("tells at most once that a moment is inside a commit, and never of a turn", async () => {
  await using project = new Project();
  const first = await begun(project);
  // The session's record and the action's record are one commit. The event before the action is inside this commit.
  await act(project, first, { turn: "t1", line: "1" });
  await first.close();
  const notes: string[] = [];
  const store = await project.store({ onNote: (note) => notes.push(note) });
  const workspace = await store.open({ folder: project.folder });
  const begins = (await workspace.log()).find(({ record_id: id }) => id.startsWith("action:"))?.seq ?? 0;
  for (const options of [{ to: "t1" }, { to: "t1", file: "f" }]) {
    const done = await workspace.undo(options);
    expect(done.selection).toBe(`to seq:${begins - 1}${"file" in options ? " in f" : ""}`);
    expect(project.read("f")).toBe(LINES);
    await workspace.redo();
  }
  await workspace.changes({ to: "t1" });
  expect(notes).toEqual([]);
  await workspace.undo({ to: `seq:${begins - 1}` });
  expect(project.read("f")).toBe(LINES);
  expect(notes).toEqual([expect.stringContaining(`seq:${begins - 1} is inside a commit`)]);
  await workspace.close();
});
