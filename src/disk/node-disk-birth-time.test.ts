import { mkdirSync, mkdtempSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { birthTime } from "./node-disk.ts";

const folder = mkdtempSync(join(tmpdir(), "chronicle-birth-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("the birth time of a folder survives changes and a rename, and a new folder in its place has another one", async () => {
  const [at, moved] = [join(folder, "a"), join(folder, "b")];
  mkdirSync(at);
  const birth = birthTime(at);
  // If birth times are unknown, `undefined` is all that can be expected.
  if (birth === undefined) return;
  writeFileSync(join(at, "f"), "x");
  utimesSync(at, 1, 1);
  renameSync(at, moved);
  expect(birthTime(moved)).toBe(birth);
  const { ino } = statSync(moved);
  // The clock of file systems has steps of some milliseconds.
  await new Promise((resolve) => setTimeout(resolve, 20));
  rmSync(moved, { recursive: true });
  mkdirSync(moved);
  expect(birthTime(moved), `inode ${ino}, now ${statSync(moved).ino}`).not.toBe(birth);
});

it("the birth time of a missing path is undefined", () => {
  expect(birthTime(join(folder, "none"))).toBeUndefined();
});
