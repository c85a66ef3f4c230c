import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { NodeDisk } from "../disk/node-disk.ts";
import { leftOpen } from "./left-open.ts";

const folder = mkdtempSync(join(tmpdir(), "chronicle-left-open-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a database with a short write-ahead log is left open, and one with a long, an empty or no log is closed", async () => {
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
