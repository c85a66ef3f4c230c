import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Entry } from "../core/values/entry.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../core/filter/filter.ts";
import { sha256 } from "../core/values/hash.ts";
import { parsePath } from "../core/values/path.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { splitBlocks, type BlobBlock } from "../storage/blob-block.ts";
import { FileBlobStore } from "../storage/files/file-blob-store.ts";
import { storeLayout } from "../storage/layout.ts";
import { MemoryLock } from "../storage/memory/memory-lock.ts";
import { sqliteBlobIndex } from "../storage/sqlite/sqlite-blob-index.ts";
import { newUlid } from "../util/ulid.ts";
import { HOLDS_ALL } from "../core/tree/folder-traits.ts";
import { ConfinedFs } from "../worktree/files/confined-fs.ts";
import { EarlyStage } from "../worktree/apply/early-stage.ts";
import { KeptStagePool } from "../workers/stage-pool.ts";
import { StagedEarlyFiles } from "./staged-early-files.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).toReversed()) await cleanUp();
});

const MOST_BLOCK = 3 * 1024 * 1024;

/** Returns blocks as another store sends them. */
async function blocksOf(contents: readonly Buffer[]): Promise<BlobBlock[]> {
  const home = mkdtempSync(join(tmpdir(), "chronicle-early-o-"));
  cleanups.push(() => rmSync(home, { recursive: true }));
  const disk = new NodeDisk();
  const layout = storeLayout(home);
  const blobs = await FileBlobStore.open({
    disk,
    layout: layout.blobs,
    openIndex: () => sqliteBlobIndex(disk, layout.blobs.index)(),
    lock: () => new MemoryLock(),
    newPackId: newUlid,
  });
  const batch = await blobs.batch();
  for (const content of contents) await batch.put(content);
  await batch.commit();
  const blocks = await Array.fromAsync(
    blobs.blocks(
      contents.map((content) => sha256(content)),
      MOST_BLOCK,
    ),
  );
  const copies = blocks.map(({ bytes }) => Buffer.from(bytes));
  await blobs.close();
  return copies.flatMap((bytes) => splitBlocks(bytes));
}

function rig(how: "threads" | "here", least = { files: 1, bytes: 1 }) {
  const base = mkdtempSync(join(tmpdir(), "chronicle-early-"));
  cleanups.push(() => rmSync(base, { recursive: true }));
  const [folder, staging] = [join(base, "folder"), join(base, "staging")];
  mkdirSync(folder);
  const disk = new NodeDisk();
  const root = { id: undefined, folder, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
  const stage = new EarlyStage({
    disk,
    open: { root, fs: new ConfinedFs(disk, folder), traits: HOLDS_ALL },
    candidate: staging,
  });
  const pools = how === "threads" ? new KeptStagePool(base, 0) : undefined;
  const files = new StagedEarlyFiles({ disk, stage, pools, least });
  cleanups.push(() => files[Symbol.asyncDispose]());
  return { staging, stage, files };
}

function entriesOf(contents: readonly Buffer[]): Entry[] {
  const folder = { path: parsePath("in"), kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined } as const;
  return [
    folder,
    ...contents.map((content, i): Entry => {
      const path = parsePath(i % 2 === 0 ? `f${i}` : `in/and in/f${i}`);
      const mode = i % 3 === 0 ? 0o4755 : 0o640;
      return { path, kind: "file", mode, size: content.length, mtimeMs: 0, hash: sha256(content) };
    }),
  ];
}

function numbered(count: number): Buffer[] {
  const contents = Array.from({ length: count }, (_, i) => Buffer.from(`content ${i} `.repeat(1 + (i % 40))));
  // Include an empty content, a content that does not compress, and one content for two paths.
  contents[3] = Buffer.alloc(0);
  contents[4] = Buffer.from(Array.from({ length: 5_000 }, (_, i) => (i * 7919 + ((i * i) >> 3)) & 0xff));
  contents[6] = contents[5] ?? Buffer.alloc(0);
  return contents;
}

test.each(["threads", "here"] as const)(
  "files are staged with their contents and modes after their blocks were checked: %s",
  async (how) => {
    const { files, stage } = rig(how);
    const contents = numbered(300);
    const entries = entriesOf(contents);
    files.expect(entries);
    for (const block of await blocksOf(contents)) await Promise.all(files.check([block]) ?? []);
    expect(stage.take()).toBeUndefined();
    await files.rest();
    const tree = stage.take();
    expect([...(tree?.files.keys() ?? [])].toSorted()).toEqual(
      entries.flatMap(({ path, kind }) => (kind === "file" ? [path] : [])).toSorted(),
    );
    const at = join(tree?.staging.fresh.root ?? "", tree?.folder ?? "");
    contents.forEach((content, i) => {
      const path = entries[i + 1]?.path ?? "";
      const seen = lstatSync(join(at, path), { bigint: true });
      expect(readFileSync(join(at, path)).equals(content), path).toBe(true);
      const mode = i % 3 === 0 ? 0o755 : 0o640;
      expect(Number(seen.mode) & 0o7777).toBe(mode);
      const told = tree?.files.get(parsePath(path));
      expect(told?.entry).toEqual({ hash: sha256(content), mode });
      expect(told?.stat).toMatchObject({ ino: seen.ino, dev: seen.dev, size: content.length, ctimeNs: seen.ctimeNs });
    });
    expect(lstatSync(join(at, "in")).mode & 0o7777).toBe(0o755);
  },
);

test.each(["threads", "here"] as const)(
  "a block with false bytes is refused, and nothing is staged from it: %s",
  async (how) => {
    const { files, stage, staging } = rig(how);
    const contents = numbered(40);
    const [block] = await blocksOf(contents);
    if (block === undefined) throw new Error("there is a block");
    files.expect(entriesOf(contents));
    const bytes = Buffer.from(block.bytes);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
    const [good, bad] = files.check([block, { ...block, bytes }]) ?? [];
    await expect(good).resolves.toBeUndefined();
    await expect(bad).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    await files.rest();
    expect(stage.take()?.files.size).toBe(40);
    stage.clear();
    // This time, only the false block is given.
    files.expect(entriesOf(contents));
    await expect(files.check([{ ...block, bytes }])?.[0]).rejects.toMatchObject({ code: "INTEGRITY_VIOLATION" });
    await files.rest();
    expect(stage.take()).toBeUndefined();
    expect(readdirSync(staging)).toEqual([]);
  },
);

test("a file that cannot be written removes all staged files, and later blocks are not taken", async () => {
  const { files, stage, staging } = rig("threads");
  const contents = numbered(10);
  const blocks = await blocksOf(contents);
  const [, first] = entriesOf(contents);
  const beneath = { ...first, path: parsePath(`${first?.path}/x`) } as Entry;
  files.expect([...entriesOf(contents), beneath]);
  for (const check of files.check(blocks) ?? []) await expect(check).resolves.toBeUndefined();
  await files.rest();
  expect(stage.take()).toBeUndefined();
  expect(readdirSync(staging)).toEqual([]);
  files.expect(entriesOf(contents));
  expect(files.check(blocks)).toBeUndefined();
});

test("few and small files are left to the caller", async () => {
  const { files } = rig("threads", { files: 100, bytes: 1_000_000 });
  const contents = numbered(20);
  files.expect(entriesOf(contents));
  expect(files.check(await blocksOf(contents))).toBeUndefined();
});

test("staged files that nobody has taken are removed on close", async () => {
  const { files, stage, staging } = rig("here");
  const contents = numbered(20);
  files.expect(entriesOf(contents));
  await Promise.all(files.check(await blocksOf(contents)) ?? []);
  expect(readdirSync(staging)).toEqual(["early"]);
  await files[Symbol.asyncDispose]();
  expect(readdirSync(staging)).toEqual([]);
  expect(stage.take()).toBeUndefined();
});
