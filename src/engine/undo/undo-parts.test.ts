import { expect, it } from "vitest";
import type { WorkspaceApi } from "../../api/workspace-api.ts";
import { Project } from "../../../test/helpers/project.ts";

const numbers = (count: number): string => Array.from({ length: count }, (_, i) => `line ${i + 1}\n`).join("");
const replaced =
  (...pairs: readonly (readonly [line: number, text: string])[]) =>
  (text: string): string =>
    pairs.reduce((all, [line, fresh]) => all.replace(`line ${line}\n`, fresh), text);

/** An agent's turn with two hunks in each of `a.txt` and `b.txt`, one in `c.txt`, and a file that it makes. */
async function agentsTurn(project: Project): Promise<WorkspaceApi> {
  for (const path of ["a.txt", "b.txt", "c.txt"]) project.write(path, numbers(20));
  const workspace = await project.init();
  const request = { type: "command", payload: {}, session: "s", turn: "t1", actor: "claude" };
  await workspace.action(request, () => {
    for (const path of ["a.txt", "b.txt"])
      project.write(path, replaced([2, "TWO\n"], [17, "SEVENTEEN\n"])(project.read(path)));
    project.write("c.txt", replaced([5, "FIVE\n"])(project.read("c.txt")));
    project.write("new/made.txt", "made\n");
  });
  return workspace;
}

const PARTS = [{ file: "a.txt", fromLine: 2 }, { file: "b.txt", fromLine: 17, toLine: 20 }, { file: "c.txt" }];

it.each([{ turn: "t1" }, {}])("undoes parts of several files as one operation, with %j", async (selection) => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const original = numbers(20);
  const before = project.tree();
  const dry = await workspace.undo({ ...selection, parts: PARTS, dryRun: true });
  expect(project.tree()).toEqual(before);
  const done = await workspace.undo({ ...selection, parts: PARTS });
  expect(dry.changes).toEqual(done.changes);
  expect(done.selection).toMatch(/ in 3 places: a\.txt:2, b\.txt:17-20, c\.txt$/);
  expect(done.changes.map(({ path, patch }) => [path, patch?.match(/^[-+]\w.*$/gm)])).toEqual([
    ["a.txt", ["-TWO", "+line 2"]],
    ["b.txt", ["-SEVENTEEN", "+line 17"]],
    ["c.txt", ["-FIVE", "+line 5"]],
  ]);
  expect(project.read("a.txt")).toBe(replaced([17, "SEVENTEEN\n"])(numbers(20)));
  expect(project.read("b.txt")).toBe(replaced([2, "TWO\n"])(numbers(20)));
  expect([project.read("c.txt"), project.read("new/made.txt")]).toEqual([numbers(20), "made\n"]);
  const part = project.tree();
  const rest = await workspace.undo(selection);
  expect(rest.changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt", "new", "new/made.txt"]);
  expect(Object.keys(project.tree())).toEqual(["a.txt", "b.txt", "c.txt"]);
  for (const path of ["a.txt", "b.txt", "c.txt"]) expect(project.read(path)).toBe(original);
  await workspace.redo();
  expect(project.tree()).toEqual(part);
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  expect((await workspace.verify()).problems).toEqual([]);
});

it("after a redo, all parts of the work are reached without naming it", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  await workspace.undo({ turn: "t1", parts: PARTS });
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  await workspace.undo({ parts: [{ file: "a.txt", fromLine: 17 }, { file: "c.txt" }] });
  expect(project.read("a.txt")).toBe(replaced([2, "TWO\n"])(numbers(20)));
  expect([project.read("c.txt"), project.tree()["b.txt"]]).toEqual([numbers(20), before["b.txt"]]);
  await workspace.undo({ parts: [{ file: "new" }] });
  expect(Object.keys(project.tree())).toEqual(["a.txt", "b.txt", "c.txt"]);
});

it("lists hunks, which are picked exactly, and refuses them once the file has changed", async () => {
  await using project = new Project();
  project.write("a.txt", numbers(9));
  const workspace = await project.init();
  const request = { type: "write_file", payload: { path: "a.txt" }, turn: "t1", actor: "claude" };
  const gaps = replaced([2, ""], [4, ""], [6, ""])(numbers(9));
  await workspace.action(request, () => project.write("a.txt", gaps));
  const { hunks = [] } = await workspace.undo({ turn: "t1", hunks: true, dryRun: true });
  expect(hunks.map(({ path, edited_by: by }) => [path, by])).toEqual([["a.txt", []]]);
  const [file] = hunks;
  expect(file?.hunks.map(({ from_line: from, to_line: to, merges }) => [from, to, merges])).toEqual([
    [1, 2, true],
    [2, 3, true],
    [3, 4, true],
  ]);
  expect(file?.hunks[1]?.patch).toBe("@@ -1,5 +1,6 @@\n line 1\n line 3\n+line 4\n line 5\n line 7\n line 8\n");
  const part = { file: "a.txt", fromLine: 2, toLine: 3, hunk: true, seen: file?.seen };
  project.write("a.txt", `${gaps}more\n`);
  const late = await workspace.undo({ turn: "t1", hunks: true, dryRun: true });
  expect(late.hunks?.[0]?.edited_by).toEqual([null]);
  await expect(workspace.undo({ turn: "t1", parts: [part] })).rejects.toMatchObject({ code: "REFUSED" });
  expect(project.read("a.txt")).toBe(`${gaps}more\n`);
  await workspace.undo({ turn: "t1", parts: [{ ...part, seen: late.hunks?.[0]?.seen }] });
  expect(project.read("a.txt")).toBe(`${replaced([2, ""], [6, ""])(numbers(9))}more\n`);
});

it("names the actors who have edited since, and a hunk that does not merge", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const request = { type: "write_file", payload: { path: "a.txt" }, actor: "codex" };
  await workspace.action(request, () => project.write("a.txt", project.read("a.txt").replace("TWO", "TWO too")));
  const { hunks = [] } = await workspace.undo({ turn: "t1", hunks: true, dryRun: true });
  expect(hunks.map(({ path, edited_by: by, hunks: all }) => [path, by, all.map(({ merges }) => merges)])).toEqual([
    ["a.txt", ["codex"], [false, true]],
    ["b.txt", [], [true, true]],
    ["c.txt", [], [true]],
    ["new", [], []],
    ["new/made.txt", [], []],
  ]);
  // The other hunk of the file can be picked with what was seen.
  const [file] = hunks;
  const merging = file?.hunks[1];
  const lines = { fromLine: merging?.from_line, toLine: merging?.to_line };
  await workspace.undo({ turn: "t1", parts: [{ file: "a.txt", ...lines, hunk: true, seen: file?.seen }] });
  expect(project.read("a.txt")).toBe(replaced([2, "TWO too\n"])(numbers(20)));
});

it("changes nothing if the work has nothing at one of the parts, or the parts are none", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  const code = async (options: Parameters<WorkspaceApi["undo"]>[0]) =>
    workspace.undo(options).then(
      () => "done",
      (error: { code: string }) => error.code,
    );
  project.write("other.txt", "x\n");
  await workspace.snapshot();
  const [a] = PARTS;
  for (const file of ["other.txt", "nowhere"])
    expect([file, await code({ turn: "t1", parts: [a ?? { file }, { file }] })]).toEqual([file, "NOT_FOUND"]);
  expect(await code({ turn: "last", parts: [a ?? { file: "" }, { file: "b.txt", fromLine: 9 }] })).toBe("NOT_FOUND");
  expect(await code({ turn: "t1", parts: [{ file: "new", fromLine: 1 }] })).toBe("REFUSED");
  expect(await code({ turn: "t1", parts: [] })).toBe("USAGE");
  expect(await code({ turn: "t1", file: "a.txt", fromLine: 2, parts: PARTS })).toBe("USAGE");
  expect(await code({ turn: "t1", parts: [{ file: "a.txt", toLine: 2 }] })).toBe("USAGE");
  expect(await code({ turn: "t1", hunks: true })).toBe("USAGE");
  project.remove("other.txt");
  expect(project.tree()).toEqual(before);
});

it("narrows a selection to parts, and tells many places apart by a digest", async () => {
  await using project = new Project();
  for (let i = 0; i < 8; i += 1) project.write(`src/${i}.txt`, "one\n");
  const workspace = await project.init();
  const request = { type: "command", payload: {}, turn: "t1", actor: "claude" };
  await workspace.action(request, () => {
    for (let i = 0; i < 8; i += 1) project.write(`src/${i}.txt`, "two\n");
  });
  const parts = Array.from({ length: 7 }, (_, i) => ({ file: `src/${i}.txt`, fromLine: 1 }));
  const done = await workspace.undo({ file: "src", parts });
  expect(done.selection).toMatch(/^file src in 7 places \([0-9a-f]{8}\): src\/0\.txt:1, .*, …$/);
  expect([project.read("src/6.txt"), project.read("src/7.txt")]).toEqual(["one\n", "two\n"]);
});

it("brings a file back with its folder, and leaves the other files of the folder away", async () => {
  await using project = new Project();
  for (const path of ["d/x.txt", "d/y.txt"]) project.write(path, "one\n");
  const workspace = await project.init();
  const request = { type: "command", payload: {}, turn: "t1", actor: "claude" };
  await workspace.action(request, () => project.remove("d"));
  await workspace.undo({ turn: "t1", parts: [{ file: "d/x.txt", seen: null }] });
  expect(Object.keys(project.tree())).toEqual(["d", "d/x.txt"]);
  project.write("d/y.txt", "by a person\n");
  const late = workspace.undo({ turn: "t1", parts: [{ file: "d/y.txt", seen: null }] });
  await expect(late).rejects.toMatchObject({ code: "REFUSED", message: expect.stringContaining("was changed since") });
  await workspace.redo();
  expect(Object.keys(project.tree())).toContain("d/y.txt");
});

it("with the last turn and files, is about the same turn as without the files", async () => {
  await using project = new Project();
  for (const path of ["a.txt", "b.txt"]) project.write(path, numbers(5));
  const workspace = await project.init();
  const by = (turn: string) => ({ type: "command", payload: {}, actor: "claude", turn });
  await workspace.action(by("t1"), () => {
    for (const path of ["a.txt", "b.txt"]) project.write(path, `${numbers(5)}t1\n`);
  });
  for (const more of ["t2\n", ""])
    await workspace.action(by("t2"), () => project.write("a.txt", `${numbers(5)}t1\n${more}`));
  expect((await workspace.undo({ turn: "last", hunks: true, dryRun: true })).selection).toBe("turn t1");
  for (const part of [{ file: "a.txt" }, { file: "b.txt", fromLine: 6 }]) {
    const done = await workspace.undo({ turn: "last", parts: [part] });
    expect([done.selection?.split(" in ")[0], done.changes.length]).toEqual(["turn t1", 1]);
  }
  expect([project.read("a.txt"), project.read("b.txt")]).toEqual([numbers(5), numbers(5)]);
});

it("shows the same hunks of an operation again if it is named, also after the redo of an undo of hunks", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  const undone = await workspace.undo({ parts: [{ file: "a.txt", fromLine: 2 }] });
  await workspace.redo();
  expect(project.tree()).toEqual(before);
  const show = { hunks: true, dryRun: true };
  for (const [asked, paths] of [
    [{}, ["a.txt", "b.txt", "c.txt", "new", "new/made.txt"]],
    [{ operation: undone.undo_id ?? "" }, ["a.txt"]],
  ] as const) {
    const first = await workspace.undo({ ...asked, ...show });
    expect(first.changes.map(({ path }) => path)).toEqual(paths);
    const again = await workspace.undo({ operation: first.operation?.id ?? "", ...show });
    expect([again.selection, again.changes, again.operation]).toEqual([
      ...[first.selection, first.changes],
      first.operation,
    ]);
  }
  await workspace.undo();
  expect(project.read("a.txt")).toBe(replaced([17, "SEVENTEEN\n"])(numbers(20)));
  expect(project.tree()["b.txt"]).toBe(before["b.txt"]);
});

it("takes back no more of an undo that is named than its own hunks, also if one of its files is chosen", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const before = project.tree();
  const parts = [
    { file: "a.txt", fromLine: 2 },
    { file: "b.txt", fromLine: 2 },
  ];
  const undone = await workspace.undo({ parts });
  await workspace.redo();
  await workspace.undo({ operation: undone.undo_id ?? "", parts: [{ file: "a.txt" }] });
  expect(project.read("a.txt")).toBe(replaced([17, "SEVENTEEN\n"])(numbers(20)));
  expect(project.tree()["b.txt"]).toBe(before["b.txt"]);
});

it("lists only the hunks at the given lines", async () => {
  await using project = new Project();
  const workspace = await agentsTurn(project);
  const parts = [{ file: "a.txt", fromLine: 15, toLine: 20 }, { file: "b.txt" }];
  const { hunks = [] } = await workspace.undo({ turn: "t1", parts, hunks: true, dryRun: true });
  expect(hunks.map(({ path, hunks: all }) => [path, all.map((one) => one.from_line)])).toEqual([
    ["a.txt", [17]],
    ["b.txt", [2, 17]],
  ]);
});

it("lists no hunks of a file that is too large to be merged, also if it was edited since", async () => {
  await using project = new Project();
  const large = "a line of a large file\n".repeat(400_000);
  project.write("large.txt", large);
  const workspace = await project.init();
  const request = { type: "command", payload: {}, turn: "t1", actor: "claude" };
  await workspace.action(request, () => project.write("large.txt", `more\n${large}`));
  project.write("large.txt", `even more\n${large}`);
  const { hunks, unmerged } = await workspace.undo({ turn: "t1", hunks: true, dryRun: true });
  expect([hunks?.map(({ path, hunks: all }) => [path, all]), unmerged.length]).toEqual([[["large.txt", []]], 1]);
  await expect(workspace.undo({ turn: "t1", parts: [{ file: "large.txt", fromLine: 1 }] })).rejects.toMatchObject({
    code: "REFUSED",
    message: expect.stringContaining("too large"),
  });
});

it("lists the hunks of as many files as there is room for, and undoes the others as a whole", async () => {
  await using project = new Project();
  const workspace = await project.init();
  const [old, fresh] = ["a", "b"].map((char) => `${char.repeat(5_000_000)}\n`);
  const paths = ["1.txt", "2.txt", "3.txt"];
  for (const path of paths) project.write(path, path === "3.txt" ? "a\n" : (old ?? ""));
  await workspace.snapshot();
  const request = { type: "command", payload: {}, turn: "t1", actor: "claude" };
  await workspace.action(request, () => {
    for (const path of paths) project.write(path, path === "3.txt" ? "b\n" : (fresh ?? ""));
  });
  const { hunks = [] } = await workspace.undo({ turn: "t1", hunks: true, dryRun: true });
  expect(hunks.map(({ path, hunks: all }) => [path, all.length])).toEqual([
    ["1.txt", 1],
    ["2.txt", 0],
    ["3.txt", 0],
  ]);
  const parts = hunks.map(({ file, seen }) => ({ file, seen }));
  expect((await workspace.undo({ turn: "t1", parts })).changes.length).toBe(3);
});
