import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { KeptStagePool, type StagePool } from "./stage-pool.ts";
import { toStageBatch } from "./stage-job.ts";

const folder = mkdtempSync(join(tmpdir(), "chronicle-kept-"));
const taken: StagePool[] = [];
afterEach(async () => {
  for (const pool of taken.splice(0)) await pool[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

function take(pools: KeptStagePool, base: string): StagePool {
  const pool = pools.take(base);
  taken.push(pool);
  return pool;
}

const nothing = () => toStageBatch([], []);

test("a pool that was given back is taken again, and still works", async () => {
  const pools = new KeptStagePool(folder, 60_000);
  const first = take(pools, "/a");
  expect(await first.run(nothing())).toBeDefined();
  await pools.giveBack("/a", first);
  const again = take(pools, "/a");
  expect(again).toBe(first);
  expect(await again.run(nothing())).toBeDefined();
});

test("a kept pool is for one folder only, and a pool that is in use is not taken again", async () => {
  const pools = new KeptStagePool(folder, 60_000);
  const first = take(pools, "/a");
  const second = take(pools, "/a");
  expect(second).not.toBe(first);
  await pools.giveBack("/a", first);
  expect(take(pools, "/b")).not.toBe(first);
  // Only one pool is kept. Another pool that is given back ends.
  await pools.giveBack("/a", second);
  expect(second.isFree).toBe(false);
  expect(take(pools, "/a")).toBe(first);
});

test("a kept pool ends once its time is over", async () => {
  const pools = new KeptStagePool(folder, 20);
  const pool = take(pools, "/a");
  await pools.giveBack("/a", pool);
  expect(pool.isFree).toBe(true);
  await expect.poll(() => pool.isFree).toBe(false);
  expect(take(pools, "/a")).not.toBe(pool);
});

test("a pool that has failed or is busy is not kept", async () => {
  const pools = new KeptStagePool(folder, 60_000);
  const failed = take(pools, "/a");
  // A missing batch is a programming error, which ends the work of the thread that gets it.
  expect(await failed.run(undefined as never)).toBeUndefined();
  await pools.giveBack("/a", failed);
  const busy = take(pools, "/a");
  expect(busy).not.toBe(failed);
  const unfinished = busy.run(nothing());
  await pools.giveBack("/a", busy);
  await unfinished;
  expect(take(pools, "/a")).not.toBe(busy);
});
