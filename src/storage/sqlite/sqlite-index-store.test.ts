import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { indexStoreSuite } from "../../testing/index-store-suite.ts";
import { openSqliteIndexStore } from "./sqlite-index-store.ts";

let folder = "";
let count = 0;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "chronicle-index-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const disk = new NodeDisk();
const freshPath = (): string => join(folder, `${(count += 1)}.db`);

indexStoreSuite("SqliteIndexStore", () => openSqliteIndexStore(freshPath(), disk));
