import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { NodeDisk } from "../disk/node-disk.ts";
import { leftOpen } from "./left-open.ts";
import { FileHeadKeeper } from "./file-head-keeper.ts";

const folder = mkdtempSync(join(tmpdir(), "chronicle-left-open-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a database with a short write-ahead log is left as it is, one with a long log is closed", async () => {
  const limit = 1024 * 1024;
  for (const [name, bytes] of Object.entries({ short: limit, long: limit + 1, empty: 0 })) {
    writeFileSync(join(folder, `${name}.db-wal`), Buffer.alloc(bytes));
  }
  const closed: string[] = [];
  for (const name of ["short", "long", "empty", "memory"]) {
    await leftOpen(new NodeDisk(), join(folder, `${name}.db`), { close: async () => void closed.push(name) }).close();
  }
  expect(closed).toEqual(["long", "empty", "memory"]);
});

test("a head is due again when the last one is no longer young", () => {
  const zeros = "0".repeat(64) as Parameters<FileHeadKeeper["keep"]>[0]["hash"];
  let now = Date.now();
  const keeper = (youngMs: number): FileHeadKeeper =>
    new FileHeadKeeper(new NodeDisk(), folder, { pid: 1, now: () => now, youngMs });
  const sparing = keeper(10_000);
  expect(sparing.isDue("w")).toBe(true);
  sparing.keep({ workspaceId: "w", seq: 1, hash: zeros, logRoot: zeros, root: zeros });
  now = Math.ceil(statSync(join(folder, "heads", "w")).mtimeMs);
  expect(sparing.isDue("w")).toBe(false);
  expect(sparing.isDue("another")).toBe(true);
  expect(keeper(0).isDue("w")).toBe(true);
  now += 10_000;
  expect(sparing.isDue("w")).toBe(true);
  // A clock that was put back says nothing about the age.
  now -= 20_000;
  expect(sparing.isDue("w")).toBe(true);
});
