import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "./sandbox.ts";

/** Runs the script as bash does. Returns the completions that bash would offer for these words. */
function offeredByBash(box: Sandbox, words: readonly string[]): string[] {
  const bin = join(box.folder, "bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "chronicle"), `#!/bin/sh\nexec ${box.command.join(" ")} "$@"\n`, { mode: 0o755 });
  const script = box.run(["completion", "bash"]).stdout;
  const line = words.map((word) => `'${word}'`).join(" ");
  const test = `${script}\nCOMP_WORDS=(chronicle ${line}) COMP_CWORD=${words.length}\n_chronicle\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const env = { ...box.env(), PATH: `${bin}:${process.env["PATH"]}` };
  const ended = spawnSync("bash", ["--norc", "-eu", "-c", test], { cwd: box.project, env, encoding: "utf8" });
  expect(ended.stderr).toBe("");
  return ended.stdout.split("\n").filter(Boolean);
}

describe("completion", () => {
  it("prints a script for each shell, and nothing else", () => {
    using box = new Sandbox();
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, stdout, stderr } = box.run(["completion", shell]);
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toContain("chronicle complete --");
    }
    expect(box.run(["completion", "tcsh"]).code).toBe(2);
  });

  it("works in bash, and never runs a command substitution on the line", () => {
    using box = new Sandbox();
    expect(offeredByBash(box, ["re"])).toEqual([
      "redo",
      "rewind",
      "resolve",
      "restore",
      "rebuild",
      "record",
      "replicate",
    ]);
    expect(offeredByBash(box, ["init", "--max-e"])).toEqual(["--max-entries"]);
    expect(offeredByBash(box, ["cat", "$(touch ran)", ""])).toEqual([]);
    expect(spawnSync("ls", [box.project], { encoding: "utf8" }).stdout).toBe("");
  });

  it("prints no completions and no error if there is nothing to offer", () => {
    using box = new Sandbox();
    expect(box.run(["complete", "--", "forget", "x"])).toEqual({ code: 0, stdout: ":4\n", stderr: "" });
  });
});
