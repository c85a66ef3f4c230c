import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../core/filter/filter.ts";
import { parsePath } from "../core/values/path.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import type { SinkGrant } from "../storage/blob-intake.ts";
import type { IngestResult } from "../engine/log/context.ts";
import { CheckedBlocks } from "../storage/files/sound-contents.ts";
import { IngestPool, poolSize } from "./ingest-pool.ts";

const disk = new NodeDisk();
let base = "";
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "chronicle-ingest-"));
  mkdirSync(join(base, "files"));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

/**
 * Makes a pool and gives it one file. If `isStoring`, the pool must store the file, but the store's folder does not
 * exist.
 */
function poolOf({ isStoring, known }: { isStoring: boolean; known?: SharedArrayBuffer }) {
  const folder = join(base, "files");
  writeFileSync(join(folder, "a"), "content");
  const stat = disk.lstat(join(folder, "a"));
  if (stat === undefined) throw new Error("there is no file");
  const results: IngestResult[] = [];
  const home = join(base, "home");
  const grants = Array.from({ length: poolSize() }, (_, lane): SinkGrant => {
    return { home, lane: { lane, pack: undefined }, known };
  });
  const pool = new IngestPool({
    roots: [{ id: undefined, folder, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
    grants: isStoring ? grants : undefined,
    erased: undefined,
    onResult: (result) => results.push(result),
  });
  pool.add([{ path: parsePath("a"), stat }]);
  return { pool, results };
}

test("a pool reads its files, reports them and ends", async () => {
  const { pool, results } = poolOf({ isStoring: false });
  expect(await pool.finish()).toEqual([]);
  expect(results).toMatchObject([{ entry: { path: "a", size: 7 } }]);
  await pool.abandon();
});

test("a pool whose contents could not be stored can be abandoned", async () => {
  const { pool } = poolOf({ isStoring: true });
  await expect(pool.finish()).rejects.toThrow();
  await pool.abandon();
});

test("a storing pool that knows sound blocks can be abandoned after it failed", async () => {
  const { pool } = poolOf({ isStoring: true, known: new CheckedBlocks().buffer });
  await expect(pool.finish()).rejects.toThrow();
  await pool.abandon();
});
