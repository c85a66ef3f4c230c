import { expect, test } from "vitest";
import { Project } from "../helpers/project.ts";

/** What an action did at ignored paths is kept aside. Once the rules no longer leave them out, they are recorded. */
test.each(["made", "removed", "changed"])(
  "06 the undo of an ignored file that was %s is recorded if the rules do not ignore the file any more",
  async (how) => {
    await using project = new Project();
    const before = how === "made" ? undefined : "before\n";
    const after = how === "removed" ? undefined : "after\n";
    const put = (text: string | undefined): void => {
      if (text === undefined) project.remove("e/a.tmp");
      else project.write("e/a.tmp", text);
    };
    project.write(".gitignore", "*.tmp\n");
    project.write("e/tracked", "t\n");
    if (before !== undefined) put(before);
    const workspace = await project.init();
    const action = await workspace.snapshotAction({ type: "rm", payload: { path: "e/a.tmp" } });
    put(after);
    await workspace.finishAction(action?.id ?? "");
    project.write(".gitignore", "\n");
    await workspace.snapshot();
    const states = async (): Promise<[string | undefined, boolean]> => {
      const isThere = Object.keys(project.tree()).includes("e/a.tmp");
      const { files } = await workspace.files();
      return [isThere ? project.read("e/a.tmp") : undefined, files.some(({ path }) => path === "e/a.tmp")];
    };
    expect(await states()).toEqual([after, after !== undefined]);
    await workspace.undo({ action: action?.id ?? "" });
    await workspace.snapshot();
    expect(await states()).toEqual([before, before !== undefined]);
    expect((await workspace.verify()).problems).toEqual([]);
    await workspace.redo();
    await workspace.snapshot();
    expect(await states()).toEqual([after, after !== undefined]);
    project.remove("e");
    await workspace.snapshot();
    expect((await workspace.files()).files.map(({ path }) => path)).toEqual([".gitignore"]);
    await workspace.compact();
    expect((await workspace.verify()).problems).toEqual([]);
  },
);
