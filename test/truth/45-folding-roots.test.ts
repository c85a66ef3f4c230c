import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";
import { MountedDisk } from "../helpers/mounted-disk.ts";

const whyNot = MountedDisk.whyNot("exfat");

describe.skipIf(whyNot !== undefined)("Truth 45: a single file on a disk that folds names", () => {
  it("is tracked by the name that it has on the disk, whatever the case in the command", async () => {
    using disk = new MountedDisk("exfat");
    using box = new Sandbox();
    const file = join(disk.home, "notes.txt");
    writeFileSync(file, "one\n");
    const begun = (await box.json(["init", join(disk.home, "Notes.TXT")])).value as { workspace: string };
    const all = (await box.json(["workspaces"], { cwd: "." })).value as { path: string }[];
    expect(all.map(({ path }) => path)).toEqual([file]);
    expect((await box.must(["init", file])).stdout).toContain("already protected");
    writeFileSync(file, "two, longer\n");
    const at = (...args: string[]) => box.must(["-w", begun.workspace, ...args], { cwd: "." });
    await at("snapshot");
    // The case of its name changes later, and it still is the same file.
    renameSync(file, join(disk.home, "NOTES.txt"));
    writeFileSync(file, "three, longer still\n");
    await at("snapshot");
    await at("restore", "0");
    expect(readFileSync(file, "utf8")).toBe("one\n");
    expect(readdirSync(disk.home)).toHaveLength(1);
    await at("undo");
    expect(readFileSync(file, "utf8")).toBe("three, longer still\n");
  });

  it("a folder is refused as a second root under another spelling", async () => {
    using disk = new MountedDisk("exfat");
    using box = new Sandbox();
    mkdirSync(join(disk.home, "proj/inner"), { recursive: true });
    for (const other of ["PROJ", "PROJ/inner"]) {
      const refused = await box.call(["init", join(disk.home, "proj"), join(disk.home, other)]);
      expect([other, refused.code, refused.stderr]).toEqual([other, 6, expect.stringContaining("tracked already")]);
    }
  });
});

describe("Truth 45: one folder at two places", () => {
  it("is refused as a second root if a bind mount leads to it (skipped where mounting is not permitted)", async ({
    skip,
  }) => {
    using box = new Sandbox();
    const [one, two] = [join(box.folder, "one"), join(box.folder, "two")];
    mkdirSync(join(one, "inner"), { recursive: true });
    mkdirSync(two);
    if (spawnSync("mount", ["--bind", one, two]).status !== 0) return skip("mounting is not permitted");
    try {
      for (const other of [two, join(two, "inner")]) {
        const refused = await box.call(["init", one, other]);
        expect([other, refused.code, refused.stderr]).toEqual([other, 6, expect.stringContaining("tracked already")]);
      }
      expect((await box.call(["init", join(one, "inner"), two])).code).toBe(6);
    } finally {
      spawnSync("umount", [two]);
    }
  });
});
