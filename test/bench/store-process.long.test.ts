import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { runCommand } from "../../bench/lib/command.ts";
import { StoreProcess } from "../../bench/lib/store-process.ts";
import { chronicleBin } from "../helpers/cli-package.ts";

const packageFolder = dirname(dirname(chronicleBin()));

let tree: string;
let folder: string;
beforeEach(() => {
  [tree = "", folder = ""] = ["tree", "store"].map((name) =>
    realpathSync(mkdtempSync(join(tmpdir(), `chronicle-bench-${name}-`))),
  );
  writeFileSync(join(tree, "a.txt"), "one\n");
});
afterEach(() => {
  for (const path of [tree, folder]) rmSync(path, { recursive: true, force: true });
});

it("the command of a measurement is carried out by the store's process, and fails without it", async () => {
  const started = await StoreProcess.start(tree, folder, packageFolder);
  writeFileSync(join(tree, "b.txt"), "two\n");
  try {
    expect(await started.pid()).toBeGreaterThan(0);
    const [asked, direct] = [started.asked("status"), started.direct("status")].map(runCommand);
    expect(asked).toContain("b.txt");
    expect(asked).toBe(direct);
    // The process does not carry out `verify`, but leaves it to its client.
    expect(() => runCommand(started.asked("verify"))).toThrow("chronicle.js");
    expect(runCommand(started.given("verify"))).toContain("ok");
  } finally {
    await started[Symbol.asyncDispose]();
  }
  expect(await started.pid()).toBeUndefined();
  expect(() => runCommand(started.asked("status"))).toThrow("chronicle.js");
});
