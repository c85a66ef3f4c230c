import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** The undo of a range of time: what came before it and what came after it stays. */

const LINES = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"];

/** Returns the text with other words at some lines, counted from 1. */
function text(changed: Readonly<Record<number, string>> = {}): string {
  return LINES.map((line, at) => `${changed[at + 1] ?? line}\n`).join("");
}

/** Records an action that writes files. */
async function act(workspace: WorkspaceApi, write: () => void): Promise<void> {
  const action = await workspace.snapshotAction({ type: "unknown", payload: {}, actor: "claude", session: "s1" });
  write();
  if (action !== null) await workspace.finishAction(action.id);
}

interface Lived {
  readonly project: Project;
  readonly workspace: WorkspaceApi;
  /** The last event before the range, and the last one in it. */
  readonly from: string;
  readonly until: string;
}

/** Before, in and after the range, an agent changes lines of `shared.txt` and writes a file. A person edits in it. */
async function lived(project: Project): Promise<Lived> {
  project.write("shared.txt", text());
  const workspace = await project.init();
  const seq = async () => `seq:${(await workspace.log({ reverse: true, limit: 1 }))[0]?.seq}`;
  await act(workspace, () => {
    project.write("shared.txt", text({ 1: "ONE" }));
    project.write("before.txt", "before\n");
  });
  const from = await seq();
  await act(workspace, () => {
    project.write("shared.txt", text({ 1: "ONE", 5: "FIVE" }));
    project.write("in.txt", "in\n");
  });
  project.write("person.txt", "by a person\n");
  await workspace.snapshot();
  const until = await seq();
  await act(workspace, () => {
    project.write("shared.txt", text({ 1: "ONE", 5: "FIVE", 9: "NINE" }));
    project.write("after.txt", "after\n");
  });
  return { project, workspace, from, until };
}

it("takes back what everybody did in the range, and merges with what came later", async () => {
  await using project = new Project();
  const { workspace, from, until } = await lived(project);
  project.write("unrecorded.txt", "not recorded yet\n");
  const changes = await workspace.changes({ since: from, until });
  expect(changes.changes.map(({ path }) => path)).toEqual(["in.txt", "person.txt", "shared.txt"]);
  const tried = await workspace.undo({ since: from, until, dryRun: true });
  const done = await workspace.undo({ since: from, until });
  expect(done.changes).toEqual(tried.changes);
  expect(done.selection).toBe(`from ${from} until ${until}`);
  expect(done.unmerged).toEqual([]);
  expect(project.read("shared.txt")).toBe(text({ 1: "ONE", 9: "NINE" }));
  expect(Object.keys(project.tree())).toEqual(["after.txt", "before.txt", "shared.txt", "unrecorded.txt"]);
  await workspace.redo();
  expect(project.read("shared.txt")).toBe(text({ 1: "ONE", 5: "FIVE", 9: "NINE" }));
  expect(project.read("person.txt")).toBe("by a person\n");
});

it("takes back only recorded work with `to`, and leaves a person's edits in the range", async () => {
  await using project = new Project();
  const { workspace, from, until } = await lived(project);
  const { selection, unmerged } = await workspace.undo({ to: from, until });
  expect([selection, unmerged]).toEqual([`work from ${from} until ${until}`, []]);
  expect(project.read("shared.txt")).toBe(text({ 1: "ONE", 9: "NINE" }));
  expect(Object.keys(project.tree())).toEqual(["after.txt", "before.txt", "person.txt", "shared.txt"]);
});

it("takes back only one file of the range if a file is given", async () => {
  await using project = new Project();
  const { workspace, from, until } = await lived(project);
  await workspace.undo({ since: from, until, file: "in.txt" });
  expect(Object.keys(project.tree())).toEqual(["after.txt", "before.txt", "person.txt", "shared.txt"]);
  expect(project.read("shared.txt")).toBe(text({ 1: "ONE", 5: "FIVE", 9: "NINE" }));
});

it("names what does not merge with later work as a conflict", async () => {
  await using project = new Project();
  const { workspace, from, until } = await lived(project);
  await act(workspace, () => project.write("shared.txt", text({ 1: "ONE", 5: "FIFTH", 9: "NINE" })));
  const { unmerged } = await workspace.undo({ since: from, until });
  expect(unmerged.map(({ path }) => path)).toEqual(["shared.txt"]);
  expect(project.read("shared.txt")).toBe(text({ 1: "ONE", 5: "FIFTH", 9: "NINE" }));
});

it("changes nothing where the work of the range was undone after it", async () => {
  await using project = new Project();
  const { workspace, from, until } = await lived(project);
  await workspace.undo({ since: from, until });
  const before = project.tree();
  expect((await workspace.undo({ since: from, until })).changes).toEqual([]);
  expect(project.tree()).toEqual(before);
});

it.each([
  ["turn", { turn: "t1" }],
  ["session", { session: "s1" }],
])("leaves the same change that somebody makes after the %s of the range was undone", async (_name, selection) => {
  await using project = new Project();
  project.write("flag", "0\n");
  const workspace = await project.init();
  const seq = async () => `seq:${(await workspace.log({ reverse: true, limit: 1 }))[0]?.seq}`;
  const from = await seq();
  const action = await workspace.snapshotAction({
    ...{ type: "unknown", payload: {}, actor: "claude", session: "s1", turn: "t1" },
  });
  project.write("flag", "1\n");
  project.write("other.txt", "x\n");
  await workspace.finishAction(action?.id ?? "");
  project.write("person.txt", "by a person\n");
  await workspace.snapshot();
  const until = await seq();
  await workspace.undo(selection);
  expect(project.read("flag")).toBe("0\n");
  project.write("flag", "1\n");
  await workspace.snapshot();
  const { changes, unmerged } = await workspace.undo({ since: from, until });
  expect([changes.map(({ path }) => path), unmerged]).toEqual([["person.txt"], []]);
  expect(Object.keys(project.tree())).toEqual(["flag"]);
  expect(project.read("flag")).toBe("1\n");
});

it("takes nothing from work that was done and undone within the range", async () => {
  await using project = new Project();
  project.write("flag", "0\n");
  const workspace = await project.init();
  const seq = async () => `seq:${(await workspace.log({ reverse: true, limit: 1 }))[0]?.seq}`;
  const from = await seq();
  await act(workspace, () => project.write("flag", "1\n"));
  await workspace.undo({ session: "s1" });
  const until = await seq();
  expect((await workspace.undo({ since: from, until })).changes).toEqual([]);
  expect(project.read("flag")).toBe("0\n");
});

it("begins inside a commit also with `to`", async () => {
  await using project = new Project();
  project.write("shared.txt", text());
  const workspace = await project.init();
  await act(workspace, () => project.write("first.txt", "1\n"));
  project.write("person.txt", "by a person\n");
  await act(workspace, () => project.write("second.txt", "2\n"));
  const edit = (await workspace.log({})).find((one) => one.record_id === "file:person.txt")?.seq ?? 0;
  const { selection } = await workspace.undo({ to: `seq:${edit}`, until: "now", dryRun: true });
  expect(selection).toBe(`to seq:${edit}`);
  await workspace.undo({ to: `seq:${edit}`, until: `seq:${edit + 1}` });
});

it("ends and begins inside a commit, which may have the changes of several people", async () => {
  await using project = new Project();
  project.write("shared.txt", text());
  const workspace = await project.init();
  await act(workspace, () => project.write("first.txt", "1\n"));
  project.write("person.txt", "by a person\n");
  // The beginning of the next action records the person's edit in the same commit as the action.
  await act(workspace, () => project.write("second.txt", "2\n"));
  const events = await workspace.log({});
  const at = (recordId: string) => events.find((one) => one.record_id === recordId)?.seq ?? 0;
  const edit = at("file:person.txt");
  const range = { since: `seq:${edit - 1}`, until: `seq:${edit}` };
  expect((await workspace.changes(range)).changes.map(({ path }) => path)).toEqual(["person.txt"]);
  await workspace.undo(range);
  expect(Object.keys(project.tree())).toEqual(["first.txt", "second.txt", "shared.txt"]);
});

it("means the same as without an end if the range ends now", async () => {
  await using project = new Project();
  const { workspace, from } = await lived(project);
  const ended = await workspace.undo({ since: from, until: "now", dryRun: true });
  const open = await workspace.undo({ since: from, dryRun: true });
  expect(ended.changes).toEqual(open.changes);
});

it.each([
  [{ until: "seq:3" }, "a range has no beginning"],
  [{ file: "in.txt", until: "seq:3" }, "a range has no beginning"],
  [{ action: "a1", until: "seq:3" }, "give only one of"],
  [{ since: "seq:4", to: "seq:4", until: "seq:5" }, "give only one of"],
  [{ since: "seq:5", until: "seq:3" }, "the range ends at seq:3, before it begins at seq:5"],
])("refuses %j", async (selection, message) => {
  await using project = new Project();
  const { workspace } = await lived(project);
  const before = project.tree();
  await expect(workspace.undo(selection)).rejects.toMatchObject({ code: "USAGE" });
  await expect(workspace.undo(selection)).rejects.toThrow(message);
  expect(project.tree()).toEqual(before);
});
