import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

describe("Truth 78: the list while a transaction is open, and after it", () => {
  it("counts the work done in it so far, and names the way back to before the recorded edits", async () => {
    await using project = new Project();
    project.write("a", "a\n");
    const workspace = await project.init();
    const { id } = await workspace.beginTransaction({ name: "tx", pid: null });
    const begun = (await workspace.head()).seq;
    project.write("one", "edit\n");
    await workspace.run({ command: ["sh", "-c", "echo r > r"], cwd: project.folder });
    project.write("two", "edit\n");
    const before = (await workspace.head()).seq;
    await workspace.snapshot();
    const own = (items: Awaited<ReturnType<typeof workspace.recent>>["items"]) =>
      items.flatMap(({ kind, summary, changed, back }) =>
        ["snapshot", "edit", "transaction"].includes(kind) ? [{ summary, changed, back }] : [],
      );
    const edits = [
      { summary: "snapshot", changed: 1, back: `chronicle restore seq:${before}` },
      { summary: "edits outside of recorded work", changed: 1, back: `chronicle restore seq:${begun}` },
    ];
    expect(own((await workspace.recent()).items)).toEqual([
      ...edits,
      { summary: "tx (open)", changed: 3, back: `chronicle transaction rollback ${id.slice(0, 8)}` },
    ]);
    await workspace.commitTransaction(id);
    expect(own((await workspace.recent()).items)).toEqual([
      { summary: "tx", changed: 3, back: "chronicle undo" },
      ...edits,
    ]);
    await workspace.restore(`seq:${begun}`);
    expect(Object.keys(project.tree())).toEqual(["a"]);
  });
});
