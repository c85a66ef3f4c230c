import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

describe("the places of histories", () => {
  it("--store makes a separate store that only its user can read", async () => {
    using box = new Sandbox();
    const own = join(box.folder, "own");
    await box.must(["--store", own, "init"]);
    expect(statSync(own).mode & 0o777).toBe(0o700);
    expect(existsSync(box.store)).toBe(false);
    expect((await box.must(["status", "--store", own])).stdout).toContain(box.project);
    expect((await box.call(["status"])).code).toBe(3);
  });

  it("--store accepts an address, and an address of an unknown scheme is refused without making files", async () => {
    using box = new Sandbox();
    const own = join(box.folder, "own");
    await box.must(["--store", pathToFileURL(own).href, "init"]);
    expect((await box.must(["status", "--store", own])).stdout).toContain(box.project);
    const before = readdirSync(box.project);
    for (const command of [["init"], ["status"], ["workspaces"], ["agents", "install", "claude"]]) {
      const { code, stderr } = await box.call(["--store", "s3://bucket/store", ...command]);
      expect([command, code, stderr]).toEqual([
        command,
        2,
        expect.stringMatching(/there is no storage for "s3:.*\n.*the schemes are file: and memory:/),
      ]);
    }
    expect(readdirSync(box.project)).toEqual(before);
  });

  it("a history survives rm -rf in the workspace, and is found from a subfolder", async () => {
    using box = new Sandbox();
    box.write("deep/er/a.txt", "one\n");
    await box.must(["init"]);
    expect((await box.must(["status"], { cwd: "project/deep/er" })).stdout).toContain(`${box.project} `);
    box.sh("rm -rf -- * .[!.]* 2>/dev/null || :");
    await box.must(["restore", "latest"]);
    expect((await box.must(["cat", "deep/er/a.txt"])).stdout).toBe("one\n");
    expect((await box.must(["diff", "0"])).stdout).toBe("no difference\n");
  });

  it("a moved folder is recognised, and a copy can be adopted", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    await box.must(["init"]);
    renameSync(box.project, join(box.folder, "moved"));
    box.write("a.txt", "two\n");
    await box.must(["snapshot"], { cwd: "moved" });
    const before = await box.json(["workspaces"]);
    expect(before.value).toMatchObject([{ path: join(box.folder, "moved") }]);
    mkdirSync(join(box.folder, "elsewhere"));
    const id = (before.value as { id: string }[])[0]?.id ?? "";
    const refused = await box.call(["init", "../elsewhere", "--adopt", id]);
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining("moved, to which this history belongs"),
    ]);
    expect((await box.json(["workspaces"])).value).toMatchObject([{ id, path: join(box.folder, "moved") }]);
    await box.must(["init", "../elsewhere", "--adopt", id, "--force"]);
    expect((await box.json(["workspaces"])).value).toMatchObject([{ id, path: join(box.folder, "elsewhere") }]);
  });

  it("restore --to prints paths relative to the new folder, from whatever folder it is called", async () => {
    using box = new Sandbox();
    box.write("a", "1\n");
    box.write("sub/b", "2\n");
    mkdirSync(join(box.folder, "two"));
    await box.must(["init", ".", "../two"]);
    for (const cwd of ["project", "project/sub", "two"]) {
      const out = join(box.folder, `out of ${cwd.replace("/", " ")}`);
      const { stdout } = await box.must(["restore", "0", "--to", out], { cwd });
      expect(stdout).toMatch(/^ {2}\+ a +2 B\n.*^ {2}\+ sub\/b +2 B\n/ms);
      expect(readdirSync(out).toSorted()).toEqual(["a", "sub"]);
    }
  });

  it("a folder and a single file can be the roots of one workspace", async () => {
    using box = new Sandbox();
    box.write("a.txt", "one\n");
    box.write("../second/b.txt", "two\n");
    box.write("../second/not-tracked.txt", "x\n");
    await box.must(["init", ".", "../second/b.txt"]);
    box.write("../second/b.txt", "three\n");
    box.write("../second/not-tracked.txt", "y\n");
    const { stdout } = await box.must(["diff"]);
    expect(stdout).toContain("@b-txt:b.txt");
    expect(stdout).not.toContain("not-tracked");
    expect((await box.must(["cat", "@b-txt:b.txt"])).stdout).toBe("two\n");
    expect((await box.must(["cat", "../second/b.txt"])).stdout).toBe("two\n");
    await box.must(["restore", "0"]);
    expect((await box.must(["diff", "0"])).stdout).toBe("no difference\n");
  });
});
