import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

describe("Truth 10: a moment inside a commit is the end of that commit", () => {
  it("in the middle of a folder's deletion no half of it is shown, and the answer says which state is meant", async () => {
    await using project = new Project();
    for (const name of ["d/a", "d/b", "d/e/c", "z"]) project.write(name, name);
    const workspace = await project.init();
    const before = await workspace.manifest("0");
    rmSync(project.at("d"), { recursive: true });
    await workspace.snapshot();
    const deleted = (await workspace.log())
      .filter(({ record_id: id }) => id.startsWith("file:d"))
      .map(({ seq }) => seq);
    expect(deleted).toHaveLength(5);
    const [first = 0, last = 0] = [deleted[0], deleted.at(-1)];
    const after = await workspace.manifest(`seq:${last}`);
    expect(Object.keys(after.files)).toEqual(["z"]);
    for (const seq of deleted) expect(await workspace.manifest(`seq:${seq}`)).toEqual(after);
    expect((await workspace.manifest(`seq:${first - 1}`)).files).toEqual(before.files);
    const { from, from_seq: fromSeq } = await workspace.diff(`seq:${first}`, "latest");
    expect([from, fromSeq]).toEqual([`seq:${last} (the end of the commit that seq:${first} is in)`, last]);
    expect((await workspace.diff(`seq:${last}`, "latest")).from).toBe(`seq:${last}`);
  });
});
