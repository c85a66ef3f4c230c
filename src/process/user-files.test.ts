import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readWholeFile } from "./user-files.ts";

test.runIf(process.platform === "linux")("a file that says it is empty is read to its end", () => {
  expect(readWholeFile("/proc/version")).toEqual(readFileSync("/proc/version"));
});

test.skipIf(process.platform === "win32")("a pipe is refused, and not taken for an empty file", () => {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-pipe-"));
  const pipe = join(folder, "pipe");
  spawnSync("mkfifo", [pipe]);
  expect(() => readWholeFile(pipe)).toThrow("ENOTSUP");
  rmSync(folder, { recursive: true });
});
