import { describe, expect, it } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import { Project } from "../helpers/project.ts";

/** Work of one agent in a project. */
interface Work {
  readonly session: string;
  readonly turn: string;
}

async function edit(
  project: Project,
  workspace: WorkspaceApi,
  { session, turn, path, from, to }: Work & { readonly path: string; readonly from?: string; readonly to: string },
): Promise<void> {
  await workspace.action({ type: "write_file", payload: { path }, session, turn, actor: session }, () => {
    project.write(path, from === undefined ? to : project.read(path).replace(from, to));
  });
}

const LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

/**
 * Two agents and a person: claude's turns c1, c2 and c3, a turn of codex between them, and edits of the person before
 * the first prompt and at the end.
 */
async function busyProject(project: Project): Promise<WorkspaceApi> {
  project.write("f", LINES);
  project.write("mine", "a\n");
  const workspace = await project.init();
  project.write("mine", "a\nedited before asking\n");
  const claude = (turn: string) => ({ session: "claude", turn });
  await workspace.startTurn({ ...claude("c1"), actor: "claude", prompt: "first" });
  await edit(project, workspace, { ...claude("c1"), path: "f", from: "one", to: "ONE" });
  await workspace.startTurn({ ...claude("c2"), actor: "claude", prompt: "second" });
  await edit(project, workspace, { ...claude("c2"), path: "f", from: "three", to: "THREE" });
  await edit(project, workspace, { session: "codex", turn: "x1", path: "f", from: "five", to: "FIVE" });
  await workspace.startTurn({ ...claude("c3"), actor: "claude", prompt: "third" });
  await edit(project, workspace, { ...claude("c3"), path: "new/made", to: "made\n" });
  project.write("f", project.read("f").replace("seven", "SEVEN"));
  return workspace;
}

const text = (...upper: readonly string[]): string =>
  LINES.split("\n")
    .map((line) => (upper.includes(line) ? line.toUpperCase() : line))
    .join("\n");

describe("going to before a prompt", () => {
  it("takes back that turn and all later work of its session, and nobody else's", async () => {
    await using project = new Project();
    const workspace = await busyProject(project);
    const done = await workspace.undo({ rewind: "c2" });
    expect(done.unmerged).toEqual([]);
    expect(project.read("f")).toBe(text("one", "five", "seven"));
    expect(Object.keys(project.tree())).toEqual(["f", "mine"]);
    expect((await workspace.turns()).map(({ turn, undone }) => `${turn} ${undone}`)).toEqual([
      ...["c3 yes", "x1 no", "c2 yes", "c1 no"],
    ]);
    await workspace.redo();
    expect(project.read("f")).toBe(text("one", "three", "five", "seven"));
    expect(project.read("new/made")).toBe("made\n");
    expect((await workspace.turns()).every(({ undone }) => undone === "no")).toBe(true);
  });

  it("shows first what would be taken back, and does nothing", async () => {
    await using project = new Project();
    const workspace = await busyProject(project);
    const before = project.tree();
    const { changes } = await workspace.undo({ rewind: "c2", dryRun: true });
    expect(changes.map(({ path }) => path)).toEqual(["f", "new", "new/made"]);
    expect(project.tree()).toEqual(before);
    expect((await workspace.changes({ rewind: "c3" })).changes.map(({ path }) => path)).toEqual(["new", "new/made"]);
  });

  it("leaves a path that does not merge as it is, as a conflict", async () => {
    await using project = new Project();
    const workspace = await busyProject(project);
    project.write("f", project.read("f").replace("THREE", "THREE, by a person"));
    const { unmerged } = await workspace.undo({ rewind: "c2" });
    expect(unmerged.map(({ path }) => path)).toEqual(["f"]);
    expect(project.read("f")).toContain("THREE, by a person");
  });

  it("restores the state right before the prompt, with what a person had edited before asking", async () => {
    await using project = new Project();
    const workspace = await busyProject(project);
    const turn = (await workspace.turns()).find((one) => one.turn === "c1");
    await workspace.restore(`seq:${turn?.seq}`);
    expect(project.read("f")).toBe(LINES);
    expect(project.read("mine")).toBe("a\nedited before asking\n");
    await workspace.undo();
    expect(project.read("f")).toBe(text("one", "three", "five", "seven"));
  });

  it("names the state before a turn by the turn's id", async () => {
    await using project = new Project();
    const workspace = await busyProject(project);
    await workspace.restore("c2");
    expect(project.read("f")).toBe(text("one"));
    expect((await workspace.operations()).at(-1)?.summary).toBe("restore to before turn c2");
  });

  it("means the turn with exactly this id, also if another id begins with it", async () => {
    await using project = new Project();
    project.write("f", LINES);
    const workspace = await project.init();
    await edit(project, workspace, { session: "s", turn: "t1", path: "f", from: "one", to: "ONE" });
    const [action] = await workspace.list();
    const turn = action?.id.slice(0, 8) ?? "";
    await edit(project, workspace, { session: "s", turn, path: "f", from: "three", to: "THREE" });
    await workspace.restore(turn);
    expect(project.read("f")).toBe(text("one"));
    expect((await workspace.operations()).at(-1)?.summary).toBe(`restore to before turn ${turn}`);
  });

  it("takes back all later work of the session also if no hook told of the turn's beginning", async () => {
    await using project = new Project();
    project.write("f", LINES);
    const workspace = await project.init();
    await edit(project, workspace, { session: "s", turn: "t1", path: "f", from: "one", to: "ONE" });
    await edit(project, workspace, { session: "s", turn: "t2", path: "f", from: "three", to: "THREE" });
    await edit(project, workspace, { session: "s", turn: "t3", path: "f", from: "five", to: "FIVE" });
    expect((await workspace.turns()).map((one) => one.prompt_state)).toEqual(["none", "none", "none"]);
    await workspace.undo({ rewind: "t2" });
    expect(project.read("f")).toBe(text("one"));
  });

  it("asks for more where a beginning means several turns, and refuses what it does not know", async () => {
    await using project = new Project();
    const workspace = await busyProject(project);
    await workspace.startTurn({ session: "other", turn: "c2" });
    await expect(workspace.undo({ rewind: "c" })).rejects.toMatchObject({ code: "AMBIGUOUS" });
    await expect(workspace.undo({ rewind: "c2" })).rejects.toMatchObject({ code: "AMBIGUOUS" });
    await expect(workspace.undo({ rewind: "none" })).rejects.toMatchObject({ code: "NOT_FOUND" });
    await workspace.undo({ rewind: "claude:c2" });
    expect(project.read("f")).toBe(text("one", "five", "seven"));
    expect((await workspace.turns())[0]?.short_id).toBe("other:c2");
  });
});

it("turns are listed newest first, of one session or actor, and page by page", async () => {
  await using project = new Project();
  const workspace = await busyProject(project);
  const ids = async (options: Parameters<WorkspaceApi["turns"]>[0]): Promise<string[]> =>
    (await workspace.turns(options)).map(({ turn }) => turn);
  expect(await ids({})).toEqual(["c3", "x1", "c2", "c1"]);
  expect(await ids({ limit: 2 })).toEqual(["c3", "x1"]);
  expect(await ids({ limit: 2, before: "codex:x1" })).toEqual(["c2", "c1"]);
  expect(await ids({ session: "cl" })).toEqual(["c3", "c2", "c1"]);
  expect(await ids({ actor: "codex" })).toEqual(["x1"]);
  await expect(workspace.turns({ limit: 0 })).rejects.toMatchObject({ code: "USAGE" });
});
