import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { Project } from "../helpers/project.ts";

/** A head of another workspace is the wrong file and no damage. A folder that does not exist is not found. */

describe("Truth 56: verify --expect", () => {
  it("reports for another workspace's head that nothing is proved, with both ids", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    const other = (await box.must(["workspaces", "create", "other"])).stdout.trim();
    await box.must(["-w", other, "put", "b.txt"], { input: "of the other one\n" });
    const head = (await box.must(["-w", other, "head"])).stdout;
    const all = (await box.json(["workspaces"])).value as { id: string }[];
    const own = all.find(({ id }) => id !== other);
    const told = await box.call(["verify", "--expect", "-"], { input: head });
    expect(told.code).toBe(4);
    expect(told.stdout).toContain("NOT PROVED: 1 problem");
    expect(told.stdout).not.toContain("DAMAGED");
    expect(told.stdout).toContain(`the head belongs to workspace ${other}, but this is ${own?.id}`);
    expect(told.stdout).toMatch(/not compared with the head you gave \(seq \d+\): it belongs to another workspace/);
  });
});

describe("Truth 56: open", () => {
  it.each([
    ["a missing folder", "gone"],
    ["a folder in a missing one", "gone/deep"],
    ["a path through a file", "file/in"],
    ["a link that leads nowhere", "link"],
  ])("reports %s as not found, with what to do", async (_what, name) => {
    await using project = new Project();
    mkdirSync(join(project.base, "there"));
    writeFileSync(join(project.base, "file"), "");
    symlinkSync("nowhere", join(project.base, "link"));
    const folder = join(project.base, name);
    const refused = {
      code: "NOT_FOUND",
      message: expect.stringContaining(folder),
      hint: expect.stringMatching(/folder/),
      data: { folder },
    };
    const store = await project.store();
    await expect(store.open({ folder })).rejects.toMatchObject(refused);
    await expect(store.open({ folder, create: true })).rejects.toMatchObject(refused);
    const named = {
      code: expect.any(String),
      message: expect.not.stringContaining("realpath"),
      hint: expect.any(String),
    };
    await expect(store.init({ roots: [folder] })).rejects.toMatchObject(named);
  });
});
