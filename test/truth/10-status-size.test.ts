import { rmSync, unlinkSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { Project } from "../helpers/project.ts";

describe("Truth 10: the number and the bytes of recorded paths in `status`", () => {
  it("count what is recorded, not what is on disk now", async () => {
    await using project = new Project();
    project.write("a", "12345");
    project.write("d/b", "123");
    project.link("l", "a");
    const workspace = await project.init();
    const sizeOf = async (): Promise<number[]> => {
      const { entries, bytes } = await workspace.status();
      return [entries, bytes];
    };
    const before = await sizeOf();
    expect(before[0]).toBe(4);
    project.write("new", "1234567");
    project.link("link", "new");
    project.write("a", "1");
    rmSync(project.at("d"), { recursive: true });
    unlinkSync(project.at("l"));
    expect(await sizeOf()).toEqual(before);
    await workspace.snapshot();
    const after = await sizeOf();
    expect(after[0]).toBe(3);
    project.write("a", "");
    expect(await sizeOf()).toEqual(after);
  });
});
