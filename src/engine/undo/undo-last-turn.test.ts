import { mkdirSync } from "node:fs";
import { expect, it } from "vitest";
import type { UndoShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { Project } from "../../../test/helpers/project.ts";

interface By {
  readonly turn: string;
  readonly session?: string;
  readonly actor?: string;
}

/** Lets an agent write its turn's name into a file of this name. */
async function turn(project: Project, workspace: WorkspaceApi, { turn: id, session = "s", actor = "claude" }: By) {
  const request = { type: "write_file", payload: { path: id }, session, turn: id, actor };
  await workspace.action(request, () => project.write(id, `${id}\n`));
}

async function three(project: Project): Promise<WorkspaceApi> {
  project.write("keep", "keep\n");
  const workspace = await project.init();
  for (const id of ["t1", "t2", "t3"]) await turn(project, workspace, { turn: id });
  return workspace;
}

const pathsOf = ({ changes }: UndoShape): string[] => changes.map(({ path }) => path);
const last = { turn: "last" };

it("undo of the last turn goes one turn further each time, and each redo brings back one turn", async () => {
  await using project = new Project();
  const workspace = await three(project);
  for (const id of ["t3", "t2", "t1"]) {
    const dry = await workspace.undo({ ...last, dryRun: true });
    const done = await workspace.undo(last);
    expect([done.selection, pathsOf(done), pathsOf(dry)]).toEqual([`turn ${id}`, [id], [id]]);
  }
  const { seq } = await workspace.status();
  for (const dryRun of [true, false]) {
    await expect(workspace.undo({ ...last, dryRun })).rejects.toMatchObject({
      code: "NOT_FOUND",
      message: "no turn has work left that can be undone",
    });
  }
  expect((await workspace.status()).seq).toBe(seq);
  for (const id of ["t1", "t2"])
    expect(await workspace.redo()).toMatchObject({ selection: `turn ${id}`, unmerged: [] });
  expect(Object.keys(project.tree())).toEqual(["keep", "t1", "t2"]);
  expect((await workspace.undo(last)).selection).toBe("turn t2");
  await turn(project, workspace, { turn: "t4" });
  for (const id of ["t4", "t1"]) expect((await workspace.undo(last)).selection).toBe(`turn ${id}`);
});

it("with a session or an actor, it is about the turns of that session or actor", async () => {
  await using project = new Project();
  project.write("keep", "keep\n");
  const workspace = await project.init();
  for (const by of [
    { turn: "a1", session: "session-a" },
    { turn: "b1", session: "session-b", actor: "codex" },
    { turn: "a2", session: "session-a" },
    { turn: "b2", session: "session-b", actor: "codex" },
  ])
    await turn(project, workspace, by);
  const labels = async (of: { readonly session?: string; readonly actor?: string }): Promise<string> =>
    (await workspace.undo({ ...last, ...of })).selection ?? "";
  expect(await labels({ session: "session-a" })).toBe("turn a2");
  expect(await labels({ actor: "codex" })).toBe("turn b2");
  expect(await labels({ actor: "claude" })).toBe("turn a1");
  await expect(labels({ session: "session-a" })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: "no turn of the session session-a has work left that can be undone",
  });
  await expect(labels({ actor: "nobody" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(labels({ session: "no-session" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect((await workspace.changes({ turn: "last", session: "session-a" })).selection).toBe("turn a2");
  expect(await labels({ session: "session-b", actor: "codex" })).toBe("turn b1");
  await expect(workspace.undo({ session: "session-a", actor: "claude" })).rejects.toMatchObject({ code: "USAGE" });
  await expect(workspace.undo({ turn: "last", since: "baseline" })).rejects.toMatchObject({ code: "USAGE" });
});

it("passes over a turn whose work is gone already, or of which only a folder with others' files is left", async () => {
  await using project = new Project();
  const workspace = await three(project);
  const request = { type: "create_directory", payload: { path: "made" }, session: "s", turn: "t4", actor: "claude" };
  await workspace.action(request, () => mkdirSync(project.at("made")));
  project.write("made/mine", "mine\n");
  await workspace.action({ type: "write_file", payload: { path: "x" }, session: "s", turn: "t5" }, () => undefined);
  project.remove("t3");
  expect((await workspace.undo(last)).selection).toBe("turn t2");
  expect(project.read("made/mine")).toBe("mine\n");
});

it("passes over a turn of which only conflicts are left", async () => {
  await using project = new Project();
  const workspace = await three(project);
  project.write("t3", "mine\n");
  project.write("t1", "mine\n");
  expect(await workspace.undo(last)).toMatchObject({ selection: "turn t3", changes: [], unmerged: [{ path: "t3" }] });
  expect((await workspace.undo(last)).selection).toBe("turn t2");
  expect(await workspace.undo(last)).toMatchObject({ selection: "turn t1", unmerged: [{ path: "t1" }] });
  await expect(workspace.undo(last)).rejects.toMatchObject({ code: "NOT_FOUND" });
  for (const again of [() => workspace.redo(), () => workspace.undo(last)])
    expect((await again()).selection).toBe("turn t2");
  expect((await workspace.conflicts()).map(({ path }) => path).toSorted()).toEqual(["t1", "t3"]);
});
