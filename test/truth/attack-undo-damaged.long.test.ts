import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { pruneNow } from "../helpers/grace.ts";
import { noise, rot } from "../helpers/rot.ts";
import { Sandbox } from "../cli/sandbox.ts";

const OLD = noise("old", 40_000);

/** A run overwrites `a.bin`. Then the content of `a.bin` from before is damaged in the store. */
async function damaged(box: Sandbox): Promise<void> {
  box.write("a.bin", OLD);
  box.write("b", "1\n");
  await box.must(["init"]);
  await box.must(["run", "--", "sh", "-c", "echo new > a.bin; echo 2 > b"]);
  rot(box.store, OLD);
}

describe("Truth: an undo or a restore that needs a damaged content", { timeout: 300_000 }, () => {
  it.each([["undo"], ["restore", "0"]])("%s exits with 4, and names the command that repairs it", async (...args) => {
    using box = new Sandbox();
    await damaged(box);
    const refused = await box.call(args);
    expect([refused.code, refused.stderr]).toEqual([4, expect.stringContaining("a.bin")]);
    expect(refused.stderr).toContain("verify --repair-from");
    if (args[0] === "undo") expect(refused.stderr).not.toContain("name other paths");
    expect(readFileSync(join(box.project, "b"), "utf8")).toBe("2\n");
    const { value } = await box.json(args);
    expect(value).toMatchObject({ error: { code: "BLOB_MISSING", data: { blocked: [{ path: "a.bin" }] } } });

    // The hints are right: --force does the rest, and after the repair everything comes back.
    expect((await box.call([...args, "--force"])).code).toBe(1);
    expect(readFileSync(join(box.project, "b"), "utf8")).toBe("1\n");
    const backup = join(box.folder, "backup");
    mkdirSync(backup);
    writeFileSync(join(backup, "copy"), OLD);
    await box.must(["verify", "--repair-from", backup]);
    await box.must(["restore", "0"]);
    expect(readFileSync(join(box.project, "a.bin")).equals(OLD)).toBe(true);
  });

  it("is refused as before if a folder is in the way, and only restore hints at other paths", async () => {
    using box = new Sandbox();
    box.write(".gitignore", "*.log\n");
    box.write("p", "file\n");
    await box.must(["init"]);
    await box.must(["run", "--", "sh", "-c", "rm p; mkdir p"]);
    box.write("p/mine.log", "mine\n");
    const undo = await box.call(["undo"]);
    expect([undo.code, undo.stderr]).toEqual([6, expect.stringContaining("or use --force")]);
    expect(undo.stderr).not.toContain("name other paths");
    const restore = await box.call(["restore", "0"]);
    expect([restore.code, restore.stderr]).toEqual([6, expect.stringContaining("name other paths")]);
  });

  it("exits with another code if the content was pruned", async () => {
    using box = new Sandbox();
    box.write("f", "first\n");
    await box.must(["init"]);
    box.write("f", "second\n");
    await box.must(["run", "--", "sh", "-c", "echo third > f"]);
    await pruneNow(box, { keepLast: 1 });
    await box.must(["gc"]);
    for (const more of [[], ["--dry-run"]]) expect((await box.call(["undo", ...more])).code).toBe(3);
    expect((await box.call(["undo", "--force"])).code).not.toBe(4);
  });
});
