import { expect, it } from "vitest";
import type { UndoShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { Project } from "../../../test/helpers/project.ts";

const LINES = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""].join("\n");

/** Lets an actor edit one line of each of these files. */
async function edit(
  workspace: WorkspaceApi,
  project: Project,
  { actor, turn, line, paths }: { actor: string; turn: string; line: string; paths: readonly string[] },
): Promise<void> {
  const request = { type: "write_file", payload: { paths }, session: `session-of-${actor}`, turn, actor };
  await workspace.action(request, () => {
    for (const path of paths) project.write(path, project.read(path).replace(`${line}\n`, `${actor}'s ${line}\n`));
  });
}

async function twoAgents(project: Project): Promise<WorkspaceApi> {
  for (const path of ["a", "dir/b"]) project.write(path, LINES);
  const workspace = await project.init();
  await edit(workspace, project, { actor: "claude", turn: "t1", line: "2", paths: ["a", "dir/b"] });
  await edit(workspace, project, { actor: "codex", turn: "u1", line: "5", paths: ["a", "dir/b"] });
  await edit(workspace, project, { actor: "codex", turn: "u2", line: "8", paths: ["a"] });
  return workspace;
}

const pathsOf = ({ changes }: UndoShape): string[] => changes.map(({ path }) => path);
const without = (text: string, ...lines: readonly string[]): string =>
  lines.reduce((all, line) => all.replace(`${line}\n`, `${line.split(" ").at(-1)}\n`), text);

it("takes back what one actor did to one file, and nothing else; redo brings it back exactly", async () => {
  await using project = new Project();
  const workspace = await twoAgents(project);
  const before = project.tree();
  const a = project.read("a");
  const asked = { actor: "codex", file: "a" };
  expect((await workspace.changes(asked)).changes.map(({ path }) => path)).toEqual(["a"]);
  const dry = await workspace.undo({ ...asked, dryRun: true });
  const done = await workspace.undo(asked);
  expect([done.selection, pathsOf(done), pathsOf(dry)]).toEqual(["actor codex in a", ["a"], ["a"]]);
  expect(project.read("a")).toBe(without(a, "codex's 5", "codex's 8"));
  expect(project.read("dir/b")).toContain("codex's 5");
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  await workspace.undo(asked);
  // An undo of all of the actor's work knows what is left.
  expect(pathsOf(await workspace.undo({ actor: "codex" }))).toEqual(["dir/b"]);
  expect((await workspace.verify()).problems).toEqual([]);
});

it("works with a turn, a session, an action, a moment and a folder", async () => {
  await using project = new Project();
  const workspace = await twoAgents(project);
  const before = project.tree();
  const [first] = await workspace.list();
  const { seq } = await workspace.status();
  const ways = [
    [{ turn: "u1", file: "dir" }, ["dir/b"], "turn u1 in dir"],
    [{ session: "session-of-claude", file: "a" }, ["a"], "session session-of-claude in a"],
    [{ action: first?.id ?? "", file: "a" }, ["a"], `action ${first?.id} in a`],
    [{ turn: "last", actor: "claude", file: "dir/b" }, ["dir/b"], "turn t1 in dir/b"],
    [{ since: "baseline", file: "dir/b" }, ["dir/b"], /^since seq:\d+ in dir\/b$/],
    [{ to: "t1", file: "a" }, ["a"], /^to seq:\d+ in a$/],
  ] as const;
  for (const [selection, paths, label] of ways) {
    const done = await workspace.undo(selection);
    expect([selection, pathsOf(done)]).toEqual([selection, paths]);
    expect(done.selection).toMatch(label);
    await workspace.redo();
    expect(project.tree()).toEqual(before);
  }
  expect((await workspace.status()).seq).toBeGreaterThan(seq);
});

it("`last` with a file is the last turn with work left on it", async () => {
  await using project = new Project();
  const workspace = await twoAgents(project);
  for (const turn of ["u1", "t1"])
    expect((await workspace.undo({ turn: "last", file: "dir/b" })).selection).toBe(`turn ${turn} in dir/b`);
  await expect(workspace.undo({ turn: "last", file: "dir/b" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(project.read("dir/b")).toBe(LINES);
});

it("changes nothing for a path on which the work did nothing, and refuses what cannot be given together", async () => {
  await using project = new Project();
  const workspace = await twoAgents(project);
  expect(await workspace.undo({ turn: "u2", file: "dir/b" })).toMatchObject({ changes: [], undo_id: null });
  await expect(workspace.undo({ actor: "codex", file: "nowhere" })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(workspace.undo({ actor: "codex", since: "baseline", file: "a" })).rejects.toMatchObject({
    code: "USAGE",
  });
  await expect(workspace.undo({ actor: "codex", file: "" })).rejects.toMatchObject({ code: "USAGE" });
});

it("is NOT_FOUND for an actor without recorded work, and names the actors who have some", async () => {
  await using project = new Project();
  const workspace = await twoAgents(project);
  const unknown = {
    code: "NOT_FOUND",
    message: 'there is no recorded work of an actor "Claude"',
    hint: expect.stringMatching(/: claude, codex \(/),
    data: { actors: ["claude", "codex"] },
  };
  await expect(workspace.undo({ actor: "Claude" })).rejects.toMatchObject(unknown);
  await expect(workspace.undo({ actor: "Claude", dryRun: true })).rejects.toMatchObject(unknown);
  await expect(workspace.undo({ actor: "Claude", file: "a" })).rejects.toMatchObject(unknown);
  await expect(workspace.changes({ actor: "Claude" })).rejects.toMatchObject(unknown);
  for (const n of [1, 2, 3, 4, 5, 6, 7]) {
    await edit(workspace, project, { actor: `z${n}`, turn: `z${n}`, line: "no such", paths: ["a"] });
  }
  await expect(workspace.undo({ actor: "nobody" })).rejects.toMatchObject({
    hint: expect.stringContaining("claude, codex, z1, z2, z3, z4, z5, z6, and 1 more"),
  });
  expect((await workspace.undo({ actor: "z1" })).notes).toEqual(["actor z1: nothing was changed"]);
});

it("takes back what the caller changed and nobody has recorded yet", async () => {
  await using project = new Project();
  project.write("a", LINES);
  const workspace = await project.init();
  project.write("a", "edited");
  await workspace.undo({ actor: "human" });
  expect(project.read("a")).toBe(LINES);
});
