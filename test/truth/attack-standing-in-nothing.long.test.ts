import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Ran, Sandbox } from "../cli/sandbox.ts";

/** Removes the folder `gone`, and runs `chronicle` with these words while standing in it. */
function standing(box: Sandbox, words: readonly string[]): Ran {
  mkdirSync(join(box.folder, "gone"), { recursive: true });
  const script = 'rm -rf ../gone && exec "$@"';
  const { status, stdout, stderr } = spawnSync("sh", ["-c", script, "sh", ...box.command, ...words], {
    cwd: join(box.folder, "gone"),
    env: box.env(),
    encoding: "utf8",
  });
  return { code: status, stdout, stderr };
}

describe("Truth: the current folder is gone", () => {
  it("the command that run prints for the way back works there", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    box.write("d/b", "two\n");
    await box.must(["init"]);
    const script = `
      "$@" run -- rm -rf '${box.project}'
      exec "$@" -w "$(ls '${box.store}/workspaces')" undo`;
    const ran = spawnSync("sh", ["-c", script, "sh", ...box.command], {
      cwd: box.project,
      env: box.env(),
      encoding: "utf8",
    });
    expect(ran.stderr).toMatch(/Take back: chronicle -w [0-9a-f-]+ undo/);
    expect([ran.status, ran.stderr]).toEqual([0, expect.not.stringContaining("uv_cwd")]);
    expect(readFileSync(join(box.project, "d/b"), "utf8")).toBe("two\n");
  });

  it("commands with -w, or with an absolute -C, work there", async () => {
    using box = new Sandbox();
    box.write("a", "one\n");
    const { workspace: id } = (await box.json(["init"])).value as { workspace: string };
    box.write("a", "two\n");
    for (const words of [
      ["status"],
      ["snapshot"],
      ["list"],
      ["diff", "0", "--", "a"],
      ["cat", "a"],
      ["restore", "0", "a"],
    ]) {
      for (const where of [
        ["-w", id],
        ["-C", box.project],
      ]) {
        const ran = standing(box, [...where, ...words]);
        expect([where, words, ran.code, ran.stderr]).toEqual([where, words, 0, expect.not.stringContaining("cwd")]);
      }
    }
    expect(readFileSync(join(box.project, "a"), "utf8")).toBe("one\n");
  });

  it("commands without these say that it is gone, and write nothing", async () => {
    using box = new Sandbox();
    const { workspace: id } = (await box.json(["init"])).value as { workspace: string };
    const cases: readonly (readonly [readonly string[], number])[] = [
      [["status"], 3],
      [[], 3],
      [["init"], 3],
      [["-C", "sub", "status"], 3],
      [["--store", "here", "-w", id, "status"], 3],
      [["-w", id, "restore", "0", "--to", "copy"], 3],
      [["run", "--", "true"], 125],
      [["-w", id, "run", "--", "true"], 125],
    ];
    for (const [words, code] of cases) {
      const ran = standing(box, words);
      expect([words, ran.code, ran.stderr]).toEqual([
        words,
        code,
        expect.stringContaining("the folder you stand in is gone"),
      ]);
      expect(ran.stderr).toContain("chronicle -w ID");
    }
    expect(existsSync(join(box.folder, "gone"))).toBe(false);
  });
});
