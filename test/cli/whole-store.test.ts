/** Commands that act on the whole store work in any folder. */
import { randomBytes } from "node:crypto";
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { DuShape, GcShape, WorkspaceShape } from "../../src/api/shapes.ts";
import { openStore } from "../../src/open.ts";
import { Sandbox } from "./sandbox.ts";
import { letGracePass } from "../helpers/grace.ts";

function bytesBeneath(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => lstatSync(join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

it("du counts every workspace, in whatever folder it is called, and its parts add up", async () => {
  using box = new Sandbox();
  box.write("a.txt", "one\n".repeat(1_000));
  await box.must(["init"]);
  const one = (await box.json(["du"])).value as DuShape;
  box.write("../second/b.txt", "two\n");
  await box.must(["init"], { cwd: "second" });
  await box.must(["compact"], { cwd: "second" });
  mkdirSync(join(box.folder, "nowhere"));
  const { code, value } = await box.json(["du"], { cwd: "nowhere" });
  expect(code).toBe(0);
  const { blobs, log_bytes, index_bytes, other_bytes, other_parts, total_bytes, store } = value as DuShape;
  expect(store).toBe(box.store);
  expect(blobs.stored_bytes + log_bytes + index_bytes + other_bytes).toBe(total_bytes);
  // Compared while the store is open, because open databases have additional files.
  const library = await openStore({ home: box.store, configFolder: join(box.folder, "config/chronicle") });
  expect((await library.du()).total_bytes).toBe(bytesBeneath(box.store));
  await library.close();
  expect(log_bytes).toBeGreaterThan(one.log_bytes);
  expect(index_bytes).toBeGreaterThan(one.index_bytes);
  expect(other_bytes).toBeGreaterThan(0);
  const { cache_bytes, stat_cache_bytes, unused_bytes, ...rare } = other_parts;
  expect(stat_cache_bytes).toBeGreaterThan(0);
  expect(unused_bytes).toBeGreaterThan(0);
  expect(rare).toEqual({ quarantine_bytes: 0, forgotten_bytes: 0 });
  expect(cache_bytes + stat_cache_bytes + unused_bytes).toBeLessThanOrEqual(other_bytes);
  const { stdout } = await box.must(["du"], { cwd: "nowhere" });
  expect(stdout.split("\n").map((line) => line.split(" ")[0])).toEqual([
    "contents",
    "logs",
    "indexes",
    "other",
    "total",
    "of",
    "",
  ]);
});

it("du counts a history that cannot be read, and does not fail", async () => {
  using box = new Sandbox();
  await box.must(["init"]);
  const [folder = ""] = readdirSync(join(box.store, "workspaces"));
  writeFileSync(join(box.store, "workspaces", folder, "events.wal"), "{}\n");
  const { value } = await box.json(["du"]);
  expect((value as DuShape).kept_beside).toMatchObject({ unread: 1 });
  expect((await box.must(["du"])).stdout).toContain("without 1 history that cannot be read");
});

it("gc frees the contents of a forgotten workspace, also in a folder without a workspace", async () => {
  using box = new Sandbox();
  box.write("a.txt", Buffer.from(Array.from({ length: 50_000 }, (_, i) => (i * i * 7919) % 251)));
  await box.must(["init"]);
  const [workspace] = (await box.json(["workspaces"])).value as WorkspaceShape[];
  await box.must(["forget", "--yes", workspace?.id ?? ""]);
  letGracePass(join(box.folder, "config/chronicle"));
  const before = bytesBeneath(join(box.store, "blobs/packs"));
  const { code, value } = await box.json(["gc"], { cwd: "home" });
  expect(code).toBe(0);
  const { freed_blobs, freed_bytes } = value as GcShape;
  expect(freed_blobs).toBeGreaterThan(0);
  expect(freed_bytes).toBeGreaterThan(0);
  expect(freed_bytes).toBe(before - bytesBeneath(join(box.store, "blobs/packs")));
});

it("gc reports contents that stay in a mostly needed pack separately from freed ones", async () => {
  using box = new Sandbox();
  box.write("a.txt", randomBytes(100_000));
  await box.must(["init"]);
  box.write("../second/b.txt", "small\n");
  await box.must(["init"], { cwd: "second" });
  const all = (await box.json(["workspaces"])).value as WorkspaceShape[];
  await box.must(["forget", "--yes", all.find(({ path }) => path.endsWith("second"))?.id ?? ""]);
  letGracePass(join(box.folder, "config/chronicle"));
  const { stdout } = await box.must(["gc"]);
  expect(stdout).toMatch(
    /^freed 0 B \(0 blobs\)\nnot freed yet: [1-9] blobs? \(\d+ B\) that no history needs any more; their packs are in use or mostly still needed, and a later gc frees them/,
  );
  expect((await box.json(["gc"])).value).toEqual({
    freed_blobs: 0,
    freed_bytes: 0,
    pending_blobs: 0,
    pending_bytes: 0,
  });
});
