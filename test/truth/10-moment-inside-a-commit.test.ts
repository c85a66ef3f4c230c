import { rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

describe("Truth 10: a moment inside a commit is the end of that commit", () => {
  it("a moment inside a folder's deletion shows the whole deletion, and diff says which state is meant", async () => {
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

  it("the moment before a pinned action can be restored after a prune, although it lies inside a commit", async () => {
    await using project = new Project();
    project.write("a.txt", "0\n");
    const workspace = await project.init();
    project.write("a.txt", "1\n");
    // One commit: what the capture found, the agent's session, the action.
    const write = (text: string) => () => project.write("a.txt", text);
    const request = { type: "write_file", payload: { path: "a.txt" }, session: "s" };
    const id = await workspace.action(request, (action) => {
      write("2\n")();
      return action?.id ?? "";
    });
    await workspace.pin(id);
    for (let i = 3; i < 6; i += 1) await workspace.action(request, write(`${i}\n`));
    const { from_seq: seq } = (await workspace.list()).find((one) => one.id === id) ?? { from_seq: 0 };
    await workspace.prune({ keepLast: 0, keepPinned: true });
    await workspace.restore(`seq:${seq}`);
    expect(project.read("a.txt")).toBe("1\n");
  });
});
