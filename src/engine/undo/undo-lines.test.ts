import { expect, it } from "vitest";
import type { UndoShape } from "../../api/shapes.ts";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { Project } from "../../../test/helpers/project.ts";

const numbers = (count: number): string[] => Array.from({ length: count }, (_, i) => `line ${i + 1}`);
const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

interface Edit {
  readonly actor?: string;
  readonly turn?: string;
  readonly path?: string;
}

/** Lets an actor change a file, as one action. */
async function edit(
  workspace: WorkspaceApi,
  project: Project,
  { actor = "claude", turn = "t1", path = "a.txt" }: Edit,
  change: (text: string) => string,
): Promise<void> {
  const request = { type: "write_file", payload: { path }, session: `session-of-${actor}`, turn, actor };
  await workspace.action(request, () => project.write(path, change(project.read(path))));
}

const replaced =
  (...pairs: readonly (readonly [line: number, text: string])[]) =>
  (text: string): string =>
    pairs.reduce((all, [line, fresh]) => all.replace(`line ${line}\n`, fresh), text);

/** An agent's turn that changes line 2, deletes lines 10 and 11, and adds two lines behind line 17. */
async function agentsTurn(project: Project): Promise<WorkspaceApi> {
  project.write("a.txt", textOf(numbers(20)));
  project.write("b.txt", textOf(numbers(3)));
  const workspace = await project.init();
  await edit(workspace, project, {}, replaced([2, "TWO\n"], [10, ""], [11, ""], [17, "line 17\nnew\nnewer\n"]));
  await edit(workspace, project, { path: "b.txt" }, replaced([2, "TWO\n"]));
  return workspace;
}

const pathsOf = ({ changes }: UndoShape): string[] => changes.map(({ path }) => path);
const at = (fromLine: number, toLine = fromLine) => ({ file: "a.txt", fromLine, toLine });

it("takes back only the hunks at the lines; the rest of the work is taken back later; redo brings back each", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  const done = await workspace.undo({ turn: "t1", ...at(16) });
  expect(project.read("a.txt")).toBe(replaced([2, "TWO\n"], [10, ""], [11, ""])(textOf(numbers(20))));
  expect(done).toMatchObject({ selection: "turn t1 in a.txt:16", unmerged: [], skipped: [] });
  expect(done.changes[0]?.patch).toContain("-new\n-newer\n");
  expect(done.changes[0]?.patch).not.toContain("TWO");
  const part = project.tree();
  expect(pathsOf(await workspace.undo({ turn: "t1" }))).toEqual(["a.txt", "b.txt"]);
  expect(project.read("a.txt")).toBe(textOf(numbers(20)));
  expect((await workspace.undo({ turn: "t1" })).changes).toEqual([]);
  await workspace.redo();
  expect(project.tree()).toEqual(part);
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  expect((await workspace.verify()).problems).toEqual([]);
});

it("takes a deletion back at either side of its gap, and a hunk as a whole", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const gone = replaced([2, "TWO\n"], [17, "line 17\nnew\nnewer\n"])(textOf(numbers(20)));
  for (const line of [9, 10]) {
    await workspace.undo({ turn: "t1", ...at(line) });
    expect([line, project.read("a.txt")]).toEqual([line, gone]);
    await workspace.redo();
  }
  for (const line of [8, 11]) {
    await expect(workspace.undo({ turn: "t1", ...at(line) })).rejects.toMatchObject({
      code: "NOT_FOUND",
      hint: expect.stringContaining("at 2, 9-10, 16-17"),
    });
  }
});

it("without a selection, it is the last operation that is not undone; hunk by hunk, the operation is undone", async () => {
  await using project = new Project();
  project.write("a.txt", textOf(numbers(9)));
  const workspace = await project.init();
  const old = project.read("a.txt");
  await edit(workspace, project, { turn: "t0" }, replaced([5, "FIVE\n"]));
  const first = project.read("a.txt");
  await edit(workspace, project, {}, replaced([2, "TWO\n"], [8, "EIGHT\n"]));
  const both = project.read("a.txt");
  const done = await workspace.undo(at(2));
  expect(done.operation?.kind).toBe("action");
  expect(project.read("a.txt")).toBe(first.replace("line 8", "EIGHT"));
  await workspace.undo(at(8));
  expect(project.read("a.txt")).toBe(first);
  // The operation is undone now, so the next undo is about the one before.
  await workspace.undo();
  expect(project.read("a.txt")).toBe(old);
  for (let i = 0; i < 3; i += 1) await workspace.redo();
  expect(project.read("a.txt")).toBe(both);
  await expect(workspace.redo()).rejects.toMatchObject({ code: "NOT_FOUND" });
  // An undo of what was redone takes exactly these hunks back again, and still knows what is left.
  await workspace.undo();
  expect(project.read("a.txt")).toBe(first.replace("line 8", "EIGHT"));
  await workspace.undo({ turn: "t1" });
  expect(project.read("a.txt")).toBe(first);
});

it("after a redo of some lines, all lines of the same operation are reached", async () => {
  await using project = new Project();
  for (const path of ["a.txt", "b.txt"]) project.write(path, textOf(numbers(9)));
  const workspace = await project.init();
  const old = project.tree();
  await edit(workspace, project, { turn: "t0", path: "b.txt" }, replaced([5, "FIVE\n"]));
  const before = project.tree();
  const request = { type: "command", payload: {}, session: "s", turn: "t1", actor: "claude" };
  const change = replaced([2, "TWO\n"], [8, "EIGHT\n"]);
  await workspace.action(request, () => {
    for (const path of ["a.txt", "b.txt"]) project.write(path, change(project.read(path)));
  });
  const text = project.read("a.txt");
  await workspace.undo(at(2));
  await workspace.redo();
  expect(project.read("a.txt")).toBe(text);
  const done = await workspace.undo(at(8));
  expect(done.operation?.kind).toBe("action");
  expect(done.selection).toBe(`operation ${done.operation?.id} in a.txt:8`);
  expect(project.read("a.txt")).toBe(text.replace("EIGHT", "line 8"));
  await workspace.redo();
  await workspace.undo({ ...at(8), file: "b.txt" });
  expect(project.read("b.txt")).toContain("TWO\n");
  expect(project.read("b.txt")).toContain("line 8\n");
  await workspace.undo({ ...at(2), file: "b.txt" });
  await workspace.undo(at(2));
  await workspace.undo(at(8));
  expect(project.tree()).toEqual(before);
  // The operation is undone now, so the next undo is about the one before.
  await workspace.undo();
  expect(project.tree()).toEqual(old);
});

it("after a redo of some lines of a turn, all lines of the turn are reached without naming it", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, replaced([5, "FIVE\n"]));
  await workspace.undo({ turn: "t1", ...at(2) });
  await workspace.redo();
  const text = project.read("a.txt");
  expect((await workspace.undo(at(17))).selection).toBe("turn t1 in a.txt:17");
  expect(project.read("a.txt")).toBe(text.replace("new\nnewer\n", ""));
});

it("leaves a hunk that a person has repeated after its undo", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await workspace.undo({ turn: "t1", ...at(2) });
  project.write("a.txt", replaced([2, "TWO\n"])(project.read("a.txt")));
  await workspace.undo({ turn: "t1" });
  expect(project.read("a.txt")).toBe(replaced([2, "TWO\n"])(textOf(numbers(20))));
});

it("leaves a repeated hunk also if another hunk of the work does not merge", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, (text) => text.replace("TWO", "TWO and more"));
  await workspace.undo({ turn: "t1", ...at(17) });
  await workspace.undo({ turn: "t1", ...at(10) });
  project.write("a.txt", project.read("a.txt").replace("line 17\n", "line 17\nnew\nnewer\n"));
  const present = project.read("a.txt");
  const done = await workspace.undo({ turn: "t1" });
  expect(done.unmerged.map(({ path }) => path)).toEqual(["a.txt"]);
  expect(project.read("a.txt")).toBe(present);
  await workspace.resolve("a.txt", { keep: "undo" });
  expect(project.read("a.txt")).toBe(present.replace("TWO and more", "line 2"));
});

it("undoes lines one by one in little time if another line of the work does not merge", async () => {
  await using project = new Project();
  const count = 18;
  project.write("a.txt", textOf(numbers(2 * count)));
  const workspace = await project.init();
  const every = (text: string): string => text.replaceAll(/^line (\d*[02468])$/gm, "even $1");
  await edit(workspace, project, {}, every);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, (text) =>
    text.replace("even 2\n", "even 2 and more\n"),
  );
  for (let line = 4; line <= 2 * count; line += 2) await workspace.undo({ turn: "t1", ...at(line) });
  const done = await workspace.undo({ turn: "t1" });
  expect(done.unmerged.map(({ path }) => path)).toEqual(["a.txt"]);
  expect(project.read("a.txt")).toBe(textOf(numbers(2 * count)).replace("line 2\n", "even 2 and more\n"));
}, 60_000);

it("merges with the edits of others, and makes a conflict only of what is at the lines", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(
    workspace,
    project,
    { actor: "codex", turn: "u1" },
    (text) => `above\n${text.replace("TWO", "TWO and more")}`,
  );
  const present = project.read("a.txt");
  const met = await workspace.undo({ turn: "t1", ...at(3) });
  expect([met.changes, met.unmerged.map(({ path }) => path)]).toEqual([[], ["a.txt"]]);
  expect(project.read("a.txt")).toBe(present);
  const done = await workspace.undo({ turn: "t1", ...at(17, 18) });
  expect(done.unmerged).toEqual([]);
  expect(project.read("a.txt")).toBe(present.replace("new\nnewer\n", ""));
  const rest = await workspace.undo({ turn: "t1" });
  expect(rest.unmerged.map(({ path }) => path)).toEqual(["a.txt"]);
  expect(project.read("a.txt")).toBe(
    present.replace("new\nnewer\n", "").replace("line 9\n", "line 9\nline 10\nline 11\n"),
  );
});

it("does nothing in a dry run, and shows the same patch", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  const dry = await workspace.undo({ turn: "t1", ...at(2), dryRun: true });
  expect(project.tree()).toEqual(before);
  const done = await workspace.undo({ turn: "t1", ...at(2) });
  expect(dry.changes).toEqual(done.changes);
  expect(dry.changes[0]?.patch).toContain("-TWO\n+line 2\n");
});

it("refuses what has no lines, and lines that are none", async () => {
  await using project = new Project();
  project.write("a.txt", textOf(numbers(3)));
  project.write("gone.txt", "x\n");
  const workspace = await project.init();
  const request = { type: "command", payload: {}, session: "s", turn: "t1", actor: "claude" };
  await workspace.action(request, () => {
    project.write("made.txt", "x\n");
    project.write("bytes", Buffer.from([0, 1]));
    project.remove("gone.txt");
  });
  await edit(workspace, project, { turn: "t2", path: "bytes" }, () => "\0\u0002");
  const refused = { code: "REFUSED", hint: expect.stringContaining("undo --file") };
  for (const [file, turn] of [
    ["made.txt", "t1"],
    ["gone.txt", "t1"],
    ["bytes", "t2"],
  ] as const)
    await expect(workspace.undo({ turn, file, fromLine: 1 })).rejects.toMatchObject(refused);
  await expect(workspace.undo({ turn: "t2", ...at(1) })).rejects.toMatchObject({ code: "NOT_FOUND" });
  for (const lines of [{ fromLine: 0 }, { fromLine: 3, toLine: 2 }, { toLine: 2 }, { fromLine: 1.5 }])
    await expect(workspace.undo({ file: "a.txt", ...lines })).rejects.toMatchObject({ code: "USAGE" });
  await expect(workspace.undo({ turn: "t2", fromLine: 1 })).rejects.toMatchObject({ code: "USAGE" });
  await expect(workspace.redo({ ...at(1) })).rejects.toMatchObject({ code: "USAGE" });
});

it("refuses the redo of an undo of hunks before that of a later one of the same work", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  const one = await workspace.undo({ turn: "t1", ...at(2) });
  const two = await workspace.undo({ turn: "t1", ...at(9) });
  await expect(workspace.redo({ operation: one.undo_id ?? "" })).rejects.toMatchObject({
    code: "REFUSED",
    data: { undo: two.undo_id },
  });
  await workspace.redo({ operation: two.undo_id ?? "" });
  await workspace.redo({ operation: one.undo_id ?? "" });
  expect(project.tree()).toEqual(before);
});

it("`last` with lines is the last turn with a hunk at these lines", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, replaced([5, "FIVE\n"]));
  expect((await workspace.undo({ turn: "last", ...at(2) })).selection).toBe("turn t1 in a.txt:2");
  await expect(workspace.undo({ turn: "last", ...at(2) })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

it("a rollback brings back what an undo of lines in the transaction has taken back", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  const { id } = await workspace.beginTransaction({ name: "try" });
  await workspace.undo({ turn: "t1", ...at(2) });
  expect(project.read("a.txt")).toContain("line 2\n");
  await workspace.rollbackTransaction(id);
  expect(project.tree()).toEqual(before);
});

it("names a file whose content was erased after an undo of lines, and undoes the others", async () => {
  await using project = new Project();
  project.write("a.txt", textOf(numbers(20)));
  project.write("b.txt", textOf(numbers(3)));
  const workspace = await project.init();
  const { id } = await workspace.beginTransaction();
  await edit(workspace, project, {}, replaced([2, "TWO\n"], [17, "SEVENTEEN\n"]));
  await edit(workspace, project, { path: "b.txt" }, replaced([2, "TWO\n"]));
  await edit(workspace, project, { actor: "codex", turn: "u1" }, replaced([9, "NINE\n"]));
  await workspace.undo({ turn: "t1", ...at(2) });
  const present = project.read("a.txt");
  await workspace.erase({ what: "a.txt" });
  expect((await workspace.commitTransaction(id)).status).toBe("committed");
  for (const selection of [{ turn: "t1" }, { turn: "last", actor: "claude" }]) {
    const done = await workspace.undo(selection);
    expect(done.skipped).toEqual([expect.objectContaining({ path: "a.txt", reason: "erased" })]);
    expect(pathsOf(done)).toEqual(["b.txt"]);
    expect([project.read("a.txt"), project.read("b.txt")]).toEqual([present, textOf(numbers(3))]);
    await workspace.redo();
  }
});

it("keeps the conflict of other lines open, and settles one of its own lines", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, (text) => text.replace("TWO", "TWO and more"));
  const [met] = (await workspace.undo({ turn: "t1", ...at(2) })).unmerged;
  const open = async (): Promise<string[]> => (await workspace.conflicts()).map(({ id }) => id);
  await workspace.undo({ turn: "t1", ...at(16) });
  expect(await open()).toEqual([met?.id]);
  // An undo of the same lines and of others wants what the conflict wants, so its own conflict replaces that one.
  const [again] = (await workspace.undo({ turn: "t1", ...at(2, 9) })).unmerged;
  expect(await open()).toEqual([again?.id]);
  await workspace.resolve("a.txt", { keep: "undo" });
  expect(project.read("a.txt")).toBe(textOf(numbers(20)));
  expect(await open()).toEqual([]);
});

it("settles the conflict of some lines once they are taken back", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, (text) => text.replace("TWO", "TWO and more"));
  await workspace.undo({ turn: "t1", ...at(2) });
  await workspace.undo({ turn: "u1" });
  await workspace.undo({ turn: "t1", ...at(2) });
  expect(project.read("a.txt")).toContain("line 2\n");
  expect(await workspace.conflicts()).toEqual([]);
});

it("redoes an undo of lines before one of other lines that only met a conflict", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, (text) => text.replace("TWO", "TWO and more"));
  const before = project.read("a.txt");
  await workspace.undo({ turn: "t1", ...at(17) });
  const met = await workspace.undo({ turn: "t1", ...at(2) });
  expect([met.changes, met.unmerged.length]).toEqual([[], 1]);
  await workspace.redo();
  expect(project.read("a.txt")).toBe(before);
});

it("refuses lines of the settling of a conflict, which is undone as a whole", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await edit(workspace, project, { actor: "codex", turn: "u1" }, (text) => text.replace("TWO", "TWO and more"));
  await workspace.undo({ turn: "t1", ...at(2) });
  await workspace.resolve("a.txt", { keep: "undo" });
  const refused = { code: "REFUSED", hint: expect.stringMatching(/`chronicle undo [0-9a-f]{8}`/) };
  await expect(workspace.undo(at(2))).rejects.toMatchObject(refused);
  await workspace.undo();
  expect(await workspace.conflicts()).toHaveLength(1);
});

it("redo takes no lines, also without their file", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  await workspace.undo();
  for (const lines of [{ fromLine: 2 }, { toLine: 2 }])
    await expect(workspace.redo(lines)).rejects.toMatchObject({ code: "USAGE" });
});

it("refuses lines of a work that has changed so many lines that its hunks cannot be told apart", async () => {
  await using project = new Project();
  project.write("a.txt", textOf(numbers(4000)));
  const workspace = await project.init();
  await edit(workspace, project, {}, (text) => text.replaceAll(/^line (\d*[02468])$/gm, "even $1"));
  const present = project.read("a.txt");
  await expect(workspace.undo({ turn: "t1", ...at(2) })).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining("too many of its lines have changed"),
    hint: expect.stringContaining("undo --file"),
  });
  expect(project.read("a.txt")).toBe(present);
});
