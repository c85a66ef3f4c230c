import { mkdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../../../test/helpers/project.ts";

describe("undo after somebody removed the folder", () => {
  it("brings the folder back with the file that was in it, and redo removes both again", async () => {
    await using project = new Project();
    project.write("dir/deep/f", "f\n", 0o600);
    project.write("keep", "keep\n");
    const workspace = await project.init();
    const before = project.tree();
    await workspace.action({ type: "delete_file", payload: { path: "dir/deep/f" } }, () =>
      project.remove("dir/deep/f"),
    );
    project.remove("dir");
    const after = project.tree();
    const seen = await workspace.undo({ dryRun: true });
    expect(seen.changes.map((one) => [one.path, one.change_type])).toEqual([
      ["dir", "created"],
      ["dir/deep", "created"],
      ["dir/deep/f", "created"],
    ]);
    expect((await workspace.undo()).changes).toEqual(seen.changes);
    expect(project.tree()).toEqual(before);
    await workspace.redo();
    expect(project.tree()).toEqual(after);
    await workspace.undo();
    expect(project.tree()).toEqual(before);
  });

  it("redo keeps a folder that undo brought back, if the folder holds another file by then", async () => {
    await using project = new Project();
    project.write("dir/f", "f\n");
    const workspace = await project.init();
    await workspace.action({ type: "delete_file", payload: { path: "dir/f" } }, () => project.remove("dir/f"));
    project.remove("dir");
    await workspace.undo();
    project.write("dir/mine", "mine\n");
    await workspace.redo();
    expect(Object.keys(project.tree())).toEqual(["dir", "dir/mine"]);
  });

  it("a redo brings the removed folder back as well", async () => {
    await using project = new Project();
    project.write("dir/f", "f\n");
    const workspace = await project.init();
    await workspace.action({ type: "write_file", payload: { path: "dir/new" } }, () => project.write("dir/new", "x\n"));
    await workspace.undo();
    project.remove("dir");
    await workspace.redo();
    expect(Object.keys(project.tree())).toEqual(["dir", "dir/new"]);
  });

  it("is a conflict if a file is in the folder's place, and does not overwrite the file", async () => {
    await using project = new Project();
    project.write("dir/f", "f\n");
    const workspace = await project.init();
    await workspace.action({ type: "delete_file", payload: { path: "dir/f" } }, () => project.remove("dir/f"));
    project.remove("dir");
    project.write("dir", "a file\n");
    await expect(workspace.undo({ exact: true })).rejects.toMatchObject({ code: "REFUSED" });
    expect((await workspace.undo()).unmerged).toMatchObject([{ path: "dir/f", reason: "folder" }]);
    expect(project.read("dir")).toBe("a file\n");
  });

  it("a rollback brings the removed folder back as well", async () => {
    await using project = new Project();
    project.write("dir/f", "f\n");
    const workspace = await project.init();
    const request = { type: "delete_file", payload: { path: "dir/f" } };
    const id = await workspace.action(request, (action) => {
      project.remove("dir/f");
      return action?.id ?? "";
    });
    project.remove("dir");
    await workspace.rollback(id);
    expect(project.read("dir/f")).toBe("f\n");
  });

  it("a folder in a file's place is reported as a conflict, also if it stays because it holds a person's file", async () => {
    await using project = new Project();
    project.write("f", "first\n");
    const workspace = await project.init();
    const act = async (session: string, work: () => void): Promise<void> => {
      const action = await workspace.snapshotAction({ type: "write_file", payload: { path: "f" }, session });
      work();
      await workspace.finishAction(action?.id ?? "");
    };
    await act("ann", () => project.write("f", "second\n"));
    await act("bob", () => project.remove("f"));
    await act("ann", () => mkdirSync(project.at("f")));
    project.write("f/of-a-person", "z\n");
    await workspace.snapshot();
    const would = await workspace.undo({ session: "ann", dryRun: true });
    const done = await workspace.undo({ session: "ann" });
    expect(done.unmerged.map(({ path, current_kind: kind }) => [path, kind])).toEqual([["f", "dir"]]);
    expect(done.skipped).toEqual([]);
    expect(would.unmerged.map(({ path, current_kind: kind }) => [path, kind])).toEqual([["f", "dir"]]);
    expect((await workspace.conflicts()).map(({ path }) => path)).toEqual(["f"]);
    expect(project.read("f/of-a-person")).toBe("z\n");
  });
});
