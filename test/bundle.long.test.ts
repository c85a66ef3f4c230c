import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { Sandbox } from "./cli/sandbox.ts";
import { chronicleBin } from "./helpers/cli-package.ts";

describe("the bundle", () => {
  it("calls `require` for nothing at run time, because an ES module cannot", () => {
    const dist = join(dirname(dirname(chronicleBin())), "dist");
    const required = readdirSync(dist).flatMap((name) => {
      const found = readFileSync(join(dist, name), "utf8").match(/__require\("[^"]*"\)/g) ?? [];
      return found.map((one) => `${name}: ${one}`);
    });
    expect(required).toEqual([]);
  });

  it("reads config.yaml", () => {
    using box = new Sandbox();
    const folder = join(box.folder, "config", "chronicle");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.yaml"), "chronicle:\n  max_snapshots: 7\n");
    const run = (...args: readonly string[]) =>
      spawnSync(process.execPath, [chronicleBin(), ...args], { cwd: box.project, env: box.env(), encoding: "utf8" });
    expect(run("init")).toMatchObject({ status: 0, stderr: "" });
    expect(run("config")).toMatchObject({ status: 0, stdout: expect.stringMatching(/max_snapshots +7 /) });
  });
});
