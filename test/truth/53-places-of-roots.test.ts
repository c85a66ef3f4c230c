import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

async function idOf(box: Sandbox, path: string): Promise<string> {
  const all = (await box.json(["workspaces"], { cwd: "." })).value as { id: string; path: string }[];
  return all.find((one) => one.path === path)?.id ?? "";
}

async function seqOf(box: Sandbox, id: string): Promise<number> {
  return ((await box.json(["-w", id, "head"], { cwd: "." })).value as { seq: number }).seq;
}

describe("Truth: a workspace of a single file", () => {
  it("is not the workspace of the folder around it, whether the file is there or gone", async () => {
    using box = new Sandbox();
    box.write("only.txt", "1\n");
    box.write("sub/b.txt", "1\n");
    await box.must(["init", "only.txt"]);
    const single = await idOf(box, join(box.project, "only.txt"));
    const seq = await seqOf(box, single);
    rmSync(join(box.project, "only.txt"));
    for (const cwd of ["project", "project/sub"]) {
      const none = await box.call(["status"], { cwd });
      expect([cwd, none.code, none.stderr]).toEqual([cwd, 3, expect.stringContaining("no workspace holds")]);
    }
    expect((await box.must(["init"])).stdout).toMatch(/^protected: /);
    expect(await idOf(box, box.project)).not.toBe(single);
    box.write("sub/b.txt", "2\n");
    expect((await box.json(["status"])).value).toMatchObject({ changes: [{ path: "sub/b.txt" }] });
    expect(await seqOf(box, single)).toBe(seq);
  });

  it("is recognised if the folder around it was moved", async () => {
    using box = new Sandbox();
    box.write("only.txt", "1\n");
    await box.must(["init", "only.txt"]);
    const id = await idOf(box, join(box.project, "only.txt"));
    renameSync(box.project, join(box.folder, "moved"));
    writeFileSync(join(box.folder, "moved/only.txt"), "2\n");
    expect((await box.must(["init", "moved/only.txt"], { cwd: "." })).stdout).toContain("already protected");
    expect(await idOf(box, join(box.folder, "moved/only.txt"))).toBe(id);
    expect((await box.json(["-w", id, "status"], { cwd: "." })).value).toMatchObject({
      changes: [{ path: "only.txt" }],
    });
  });
});

describe("Truth: init --adopt continues only a history of the same kind", () => {
  it("refuses a file for a folder's history, a folder for a file's, and a file of another name", async () => {
    using box = new Sandbox();
    box.write("a.txt", "1\n");
    box.write("other.txt", "not tracked\n");
    await box.must(["init", "a.txt"]);
    const single = await idOf(box, join(box.project, "a.txt"));
    mkdirSync(join(box.folder, "whole"));
    writeFileSync(join(box.folder, "whole/w.txt"), "1\n");
    await box.must(["init"], { cwd: "whole" });
    const whole = await idOf(box, join(box.folder, "whole"));
    rmSync(join(box.folder, "whole"), { recursive: true });
    rmSync(join(box.project, "a.txt"));
    mkdirSync(join(box.folder, "folder"));
    const before = [await seqOf(box, single), await seqOf(box, whole)];
    for (const [id, place] of [
      [whole, "project/other.txt"],
      [single, "folder"],
      [single, "project/other.txt"],
    ] as const) {
      for (const force of [[], ["--force"]]) {
        const refused = await box.call(["init", place, "--adopt", id, ...force], { cwd: "." });
        expect([place, refused.code, refused.stderr]).toEqual([
          place,
          6,
          expect.stringMatching(/, but \S+ is something else$/m),
        ]);
      }
    }
    expect([await seqOf(box, single), await seqOf(box, whole)]).toEqual(before);
    writeFileSync(join(box.folder, "folder/a.txt"), "1\n");
    await box.must(["init", "folder/a.txt", "--adopt", single], { cwd: "." });
    expect(await idOf(box, join(box.folder, "folder/a.txt"))).toBe(single);
    expect(readFileSync(join(box.project, "other.txt"), "utf8")).toBe("not tracked\n");
  });
});

describe("Truth: init with several places", () => {
  function three(box: Sandbox): void {
    for (const name of ["a", "b", "c"]) {
      mkdirSync(join(box.folder, name));
      writeFileSync(join(box.folder, name, `${name}.txt`), "1\n");
    }
  }

  it("refuses a further place that the existing history does not track", async () => {
    using box = new Sandbox();
    three(box);
    await box.must(["init", "a", "b"], { cwd: "." });
    const id = await idOf(box, join(box.folder, "a"));
    for (const more of [[], ["--adopt", id]]) {
      const refused = await box.call(["init", "a", "b", "c", ...more], { cwd: "." });
      expect([refused.code, refused.stderr]).toEqual([6, expect.stringContaining(join(box.folder, "c"))]);
      expect((await box.must(["init", "a", "b", ...more], { cwd: "." })).stdout).toContain("already protected");
    }
    renameSync(join(box.folder, "a"), join(box.folder, "moved"));
    const seq = await seqOf(box, id);
    expect((await box.call(["init", "moved", "c"], { cwd: "." })).code).toBe(6);
    expect(await seqOf(box, id)).toBe(seq);
  });

  it("refuses a folder that was moved into another root, until it stands apart again", async () => {
    using box = new Sandbox();
    three(box);
    await box.must(["init", "a", "b"], { cwd: "." });
    const id = await idOf(box, join(box.folder, "a"));
    const seq = await seqOf(box, id);
    renameSync(join(box.folder, "a"), join(box.folder, "b/a"));
    for (const args of [["snapshot"], ["status"], ["init"], ["init", "--adopt", id]]) {
      const refused = await box.call(args, { cwd: "b/a" });
      expect([args, refused.code, refused.stderr]).toEqual([args, 6, expect.stringContaining("twice")]);
    }
    renameSync(join(box.folder, "b/a"), join(box.folder, "around"));
    renameSync(join(box.folder, "b"), join(box.folder, "around/b"));
    expect(await seqOf(box, id)).toBe(seq);
    renameSync(join(box.folder, "around/b"), join(box.folder, "b"));
    expect((await box.must(["snapshot"], { cwd: "around" })).stdout).toMatch(/^snapshot/);
  });
});
