import { chmodSync, mkdirSync, renameSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { UndoShape } from "../../api/shapes.ts";
import type { UndoOptions, WorkspaceApi } from "../../api/workspace-api.ts";
import { Project } from "../../../test/helpers/project.ts";

const LINES = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""].join("\n");

/** Lets an agent work. Returns the id of the operation. */
async function act(workspace: WorkspaceApi, paths: readonly string[], work: () => void): Promise<string> {
  return workspace.action({ type: "write_file", payload: { paths } }, (action) => {
    work();
    return action?.id ?? "";
  });
}

function edit(project: Project, path: string, from: string, to: string): void {
  project.write(path, project.read(path).replace(from, to));
}

/** Undoes, after a dry run that must tell the same. */
async function undone(workspace: WorkspaceApi, options: UndoOptions = {}): Promise<UndoShape> {
  const { seq } = await workspace.status();
  const dry = await workspace.undo({ ...options, dryRun: true });
  expect((await workspace.status()).seq).toBe(seq);
  const done = await workspace.undo(options);
  const plain = ({ changes, skipped, unmerged, notes }: UndoShape): unknown => ({
    changes: changes.map((one) => [one.path, one.change_type, one.after_hash]),
    unmerged: unmerged.map((one) => [one.path, one.reason, one.current_hash, one.undo_hash]),
    skipped,
    notes,
  });
  expect(plain(dry)).toEqual(plain(done));
  return done;
}

describe("a plain undo of paths that were edited since", () => {
  it("merges with the edits, takes back the other paths, and its redo brings back exactly that", async () => {
    await using project = new Project();
    project.write("f", LINES);
    project.write("g", "g\n");
    const workspace = await project.init();
    await act(workspace, ["f", "g", "new"], () => {
      edit(project, "f", "2\n", "two\n");
      project.write("g", "other\n");
      project.write("new", "new\n");
    });
    edit(project, "f", "8\n", "eight\n");
    const before = project.tree();
    const done = await undone(workspace);
    expect([project.read("f"), project.read("g")]).toEqual([LINES.replace("8", "eight"), "g\n"]);
    expect(Object.keys(project.tree())).toEqual(["f", "g"]);
    expect([done.unmerged, done.skipped, done.operation?.kind]).toEqual([[], [], "action"]);
    expect((await workspace.operations()).find((one) => one.kind === "action")?.undone).toBe(true);
    expect((await workspace.redo()).unmerged).toEqual([]);
    expect(project.tree()).toEqual(before);
    await workspace.undo();
    edit(project, "f", "5\n", "five\n");
    await workspace.redo();
    expect(project.read("f")).toBe(LINES.replace("2", "two").replace("8", "eight").replace("5", "five"));
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("leaves a file of which the same line was edited, names it as a conflict, and the next undo goes further", async () => {
    await using project = new Project();
    project.write("f", LINES);
    project.write("g", "g\n");
    project.write("earlier", "1\n");
    const workspace = await project.init();
    await act(workspace, ["earlier"], () => project.write("earlier", "2\n"));
    await act(workspace, ["f", "g"], () => {
      edit(project, "f", "2\n", "two\n");
      project.write("g", "other\n");
    });
    edit(project, "f", "two\n", "mine\n");
    const done = await undone(workspace);
    expect(done.unmerged).toMatchObject([{ path: "f", reason: "content", undo_id: done.undo_id }]);
    expect([project.read("f"), project.read("g")]).toEqual([LINES.replace("2", "mine"), "g\n"]);
    expect(await workspace.conflicts()).toMatchObject([{ path: "f", state: "open" }]);
    const further = await undone(workspace);
    expect(further.changes.map(({ path }) => path)).toEqual(["earlier"]);
    await workspace.redo();
    await workspace.redo();
    expect([project.read("f"), project.read("g")]).toEqual([LINES.replace("2", "mine"), "other\n"]);
    expect(await workspace.conflicts()).toEqual([]);
  });

  it("with force gives the path its earlier state, and the edit stays in the history", async () => {
    await using project = new Project();
    project.write("f", LINES);
    const workspace = await project.init();
    await act(workspace, ["f"], () => edit(project, "f", "2\n", "two\n"));
    edit(project, "f", "8\n", "eight\n");
    const edited = project.read("f");
    const done = await workspace.undo({ force: true });
    expect(project.read("f")).toBe(LINES);
    expect(done.notes.join()).toContain("chronicle cat :/f@3");
    await workspace.redo();
    expect(project.read("f")).toBe(edited);
  });

  it("is refused with `exact`, as before, and a file without later edits is undone", async () => {
    await using project = new Project();
    project.write("f", LINES);
    const workspace = await project.init();
    const id = await act(workspace, ["f"], () => edit(project, "f", "2\n", "two\n"));
    edit(project, "f", "8\n", "eight\n");
    const edited = project.read("f");
    for (const options of [{}, { operation: id }, { action: id }, { dryRun: true }]) {
      await expect(workspace.undo({ ...options, exact: true })).rejects.toMatchObject({
        code: "REFUSED",
        message: "nothing was changed, because these were edited since: f",
        hint: expect.stringContaining("without `--exact` keeps the later edits, and merges with them"),
        data: { edited: [{ path: "f", reason: "changed", detail: "it was edited since" }] },
      });
    }
    expect(project.read("f")).toBe(edited);
    await expect(workspace.undo({ exact: true, force: true })).rejects.toMatchObject({ code: "USAGE" });
    edit(project, "f", "eight\n", "8\n");
    await undone(workspace, { exact: true });
    expect(project.read("f")).toBe(LINES);
  });

  it("with `exact` is refused after a later edit, even if others worked on the file in between", async () => {
    await using project = new Project();
    project.write("f", LINES);
    const workspace = await project.init();
    await workspace.action({ type: "run_command", payload: { command: "make" } }, async () => {
      edit(project, "f", "2\n", "two\n");
      await act(workspace, ["f"], () => edit(project, "f", "5\n", "five\n"));
      edit(project, "f", "2\n", "two\n");
    });
    await workspace.undo({ actor: "agent" });
    await workspace.redo();
    edit(project, "f", "8\n", "eight\n");
    await expect(workspace.undo({ exact: true })).rejects.toMatchObject({ code: "REFUSED" });
  });

  it("of a restore merges, too", async () => {
    await using project = new Project();
    project.write("f", LINES);
    const workspace = await project.init();
    edit(project, "f", "2\n", "two\n");
    await workspace.restore("baseline");
    edit(project, "f", "8\n", "eight\n");
    await undone(workspace);
    expect(project.read("f")).toBe(LINES.replace("2", "two").replace("8", "eight"));
    await workspace.redo();
    expect(project.read("f")).toBe(LINES.replace("8", "eight"));
  });

  it("of a transaction with an action within it merges, too", async () => {
    await using project = new Project();
    project.write("f", LINES);
    const workspace = await project.init();
    await workspace.transaction(async () => {
      await act(workspace, ["f"], () => edit(project, "f", "2\n", "two\n"));
      edit(project, "f", "4\n", "four\n");
    });
    edit(project, "f", "8\n", "eight\n");
    const done = await undone(workspace);
    expect(done.operation?.kind).toBe("transaction");
    expect(project.read("f")).toBe(LINES.replace("8", "eight"));
    await workspace.redo();
    expect(project.read("f")).toBe(LINES.replace("2", "two").replace("4", "four").replace("8", "eight"));
  });

  it("leaves a file that was removed, became a folder, was renamed, or has another kind now", async () => {
    await using project = new Project();
    for (const path of ["gone", "folder", "renamed", "linked", "mode"]) project.write(path, LINES);
    project.link("link", "a");
    const workspace = await project.init();
    const all = ["gone", "folder", "renamed", "linked", "mode", "link", "made"];
    await act(workspace, all, () => {
      for (const path of ["gone", "folder", "renamed", "linked"]) edit(project, path, "2\n", "two\n");
      chmodSync(project.at("mode"), 0o755);
      project.write("made", "made\n");
      project.remove("link");
      project.link("link", "b");
    });
    project.remove("gone");
    project.remove("folder");
    mkdirSync(project.at("folder"));
    project.write("folder/mine", "mine\n");
    renameSync(project.at("renamed"), project.at("new-name"));
    project.remove("linked");
    project.link("linked", "elsewhere");
    edit(project, "mode", "8\n", "eight\n");
    project.remove("made");
    project.remove("link");
    project.link("link", "c");
    const before = project.tree();
    const done = await undone(workspace);
    expect(done.unmerged.map(({ path, reason }) => [path, reason])).toEqual([
      ["folder", "kind"],
      ["gone", "deleted"],
      ["link", "content"],
      ["linked", "kind"],
      ["renamed", "deleted"],
    ]);
    const after = project.tree();
    expect({ ...after, mode: "" }).toEqual({ ...before, mode: "" });
    expect(after["mode"]).toBe(before["mode"]?.replace("755", "644"));
    await workspace.redo();
    expect(project.tree()).toEqual(before);
  });

  it("leaves a file whose folder was replaced by a file, names it, and takes back the rest", async () => {
    await using project = new Project();
    project.write("dir/f", "f\n");
    project.write("g", "g\n");
    const workspace = await project.init();
    await act(workspace, ["dir/f", "g"], () => {
      project.remove("dir/f");
      project.write("g", "other\n");
    });
    project.remove("dir");
    project.write("dir", "a file\n");
    await expect(workspace.undo({ exact: true })).rejects.toMatchObject({ code: "REFUSED" });
    const done = await undone(workspace);
    expect(done.unmerged).toMatchObject([{ path: "dir/f", reason: "folder" }]);
    expect([project.read("dir"), project.read("g")]).toEqual(["a file\n", "g\n"]);
  });
});

describe("the redo of an undo that merged a file in part, and changed other files", () => {
  const TWELVE = Array.from({ length: 12 }, (_, i) => `${i + 1}\n`).join("");
  const TURN = { session: "s", turn: "t1", actor: "claude" };

  /**
   * An agent changes two lines of each of these files, and creates `new`. Then a person edits the line after the second
   * one, so that the undo of the second line does not merge.
   */
  async function partly(project: Project, paths: readonly string[]): Promise<WorkspaceApi> {
    for (const path of paths) project.write(path, TWELVE);
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { paths: [...paths, "new"] }, ...TURN }, () => {
      for (const path of paths) {
        edit(project, path, "2\n", "two\n");
        edit(project, path, "8\n", "eight\n");
      }
      project.write("new", "new\n");
    });
    for (const path of paths) edit(project, path, "9\n", "mine\n");
    return workspace;
  }

  const UNDONE = TWELVE.replace("8", "eight").replace("9", "mine");

  it.each([
    { name: "a plain undo", paths: ["f"], options: {} },
    { name: "a plain undo of two such files", paths: ["f", "g"], options: {} },
    { name: "an undo of a turn", paths: ["f"], options: { turn: "last" } },
    { name: "an undo of an actor's work in two such files", paths: ["f", "g"], options: { actor: "claude" } },
    { name: "an undo of everything since a moment", paths: ["f"], options: { to: "baseline" } },
  ])("brings back all of $name, and so does the redo of a second undo", async ({ paths, options }) => {
    await using project = new Project();
    const workspace = await partly(project, paths);
    await workspace.snapshot();
    const before = project.tree();
    for (const _ of [1, 2]) {
      const done = await undone(workspace, options);
      expect(done.unmerged.map(({ path }) => path)).toEqual(paths);
      expect(Object.keys(project.tree())).toEqual(paths);
      for (const path of paths) expect(project.read(path)).toBe(UNDONE);
      expect((await workspace.redo()).unmerged).toEqual([]);
      expect(project.tree()).toEqual(before);
      expect(await workspace.conflicts()).toEqual([]);
    }
    await workspace.undo();
    for (const path of paths) expect(project.read(path)).toBe(UNDONE);
    await workspace.redo();
    expect(project.tree()).toEqual(before);
    expect((await workspace.verify()).problems).toEqual([]);
  });

  it("keeps a further edit", async () => {
    await using project = new Project();
    const workspace = await partly(project, ["f"]);
    await workspace.undo();
    edit(project, "f", "5\n", "five\n");
    expect((await workspace.redo()).unmerged).toEqual([]);
    expect(project.read("f")).toBe(UNDONE.replace("2", "two").replace("5", "five"));
    expect(project.read("new")).toBe("new\n");
  });

  it("is a conflict at a further edit of the same line, and brings this line back once it can", async () => {
    await using project = new Project();
    const workspace = await partly(project, ["f"]);
    const undo = await workspace.undo();
    edit(project, "f", "2\n", "mine too\n");
    const redo = await workspace.redo();
    expect(redo.unmerged.map(({ path }) => path)).toEqual(["f"]);
    expect(await workspace.conflicts()).toMatchObject([{ path: "f", undo_id: redo.undo_id }]);
    expect(Object.keys(project.tree())).toEqual(["f", "new"]);
    edit(project, "f", "mine too\n", "2\n");
    await workspace.redo({ operation: undo.undo_id ?? "" });
    expect(project.read("f")).toBe(UNDONE.replace("2", "two"));
    expect(project.read("new")).toBe("new\n");
    expect(await workspace.conflicts()).toEqual([]);
  });

  it("brings the merged part back after the conflict was settled", async () => {
    for (const keep of ["current", "undo"] as const) {
      await using project = new Project();
      const workspace = await partly(project, ["f"]);
      const undo = await workspace.undo();
      await workspace.resolve("f", { keep });
      const settled = project.read("f");
      await workspace.redo({ operation: undo.undo_id ?? "" });
      expect(project.read("f")).toBe(settled.replace("2\n", "two\n"));
      expect(project.read("new")).toBe("new\n");
      expect(await workspace.conflicts()).toEqual([]);
    }
  });
});
