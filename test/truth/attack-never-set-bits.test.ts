import { chmodSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "../cli/sandbox.ts";

describe("Truth: a path whose set-id or sticky bit is not brought back is named", () => {
  it("by undo, a restore of the file and of everything, and their dry runs", async () => {
    using box = new Sandbox();
    box.write("tool", "#!\n");
    const file = join(box.project, "tool");
    chmodSync(file, 0o4755);
    await box.must(["init"]);
    box.run(["run", "--", "chmod", "755", "tool"]);
    for (const args of [
      ["undo", "--dry-run"],
      ["restore", "0", "--dry-run"],
      ["restore", "0"],
      ["restore", "0", "tool"],
      ["undo", "--file", "tool", "--dry-run"],
      ["undo"],
    ]) {
      const { code, stdout } = await box.call(args);
      expect([args, code]).toEqual([args, 1]);
      expect(stdout).toContain("tool (special-bits: setuid, setgid and sticky are recorded, but never set)");
      expect(stdout).not.toContain("like that already");
    }
    expect(statSync(file).mode & 0o7777).toBe(0o755);
  });

  it("a run that is rolled back names it as not rolled back", async () => {
    using box = new Sandbox();
    box.write("tool", "#!\n");
    chmodSync(join(box.project, "tool"), 0o4755);
    await box.must(["init"]);
    const command = ["run", "--rollback-on-failure", "--", "sh", "-c", "chmod 755 tool; exit 3"];
    const { code, stderr } = await box.call(command);
    expect(code).toBe(122);
    expect(stderr).toContain("NOT rolled back: tool");
  });
});
