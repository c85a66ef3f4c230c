import {
  lstatSync,
  mkdtempSync,
  writeFileSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  mkdirSync,
  truncateSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Hash } from "../core/values/hash.ts";
import { parsePath } from "../core/values/path.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { FileBlobStore } from "../storage/files/file-blob-store.ts";
import { storeLayout } from "../storage/layout.ts";
import { MemoryLock } from "../storage/memory/memory-lock.ts";
import { sqliteBlobIndex } from "../storage/sqlite/sqlite-blob-index.ts";
import { newUlid } from "../util/ulid.ts";
import type { StageFile } from "../worktree/apply/restore-workers.ts";
import { FileRestoreWorkers } from "./file-restore-workers.ts";

const MANY = 1_600;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).toReversed()) await cleanUp();
});

/** Makes a store with these contents, a crew for it, and a folder to write in. */
async function rig(contents: readonly Buffer[]) {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-crew-"));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const home = join(folder, "store");
  const base = join(folder, "base");
  mkdirSync(home);
  mkdirSync(join(base, "in"), { recursive: true });
  const disk = new NodeDisk();
  const layout = storeLayout(home);
  const blobs = await FileBlobStore.open({
    disk,
    layout: layout.blobs,
    openIndex: () => sqliteBlobIndex(disk, layout.blobs.index)(),
    lock: () => new MemoryLock(),
    newPackId: newUlid,
  });
  cleanups.push(() => blobs.close());
  const batch = await blobs.batch();
  const hashes: Hash[] = [];
  for (const content of contents) hashes.push(await batch.put(content));
  await batch.commit();
  const files = hashes.map((hash, i): StageFile => {
    const content = contents[i] ?? Buffer.alloc(0);
    const path = parsePath(i % 2 === 0 ? `f${i}` : `in/f${i}`);
    return { hash, path, size: content.length, mode: i % 3 === 0 ? 0o755 : 0o640, mtimeNs: undefined };
  });
  return {
    base,
    layout,
    files,
    crew: new FileRestoreWorkers({ home, disk, placesOf: (hashes) => blobs.placesOf(hashes) }),
  };
}

function numbered(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) => Buffer.from(`content ${i % (count - 10)} `.repeat(1 + (i % 40))));
}

test("many files, some with equal contents, are written as requested, and returned with their stats", async () => {
  const contents = numbered(MANY);
  contents[7] = Buffer.alloc(0);
  contents[8] = Buffer.alloc(600_000, "large");
  const { base, files, crew } = await rig(contents);
  const dated = files.map((file, i) => (i === 9 ? { ...file, mtimeNs: 1_000_000_000_123_456_789n } : file));
  const told: number[] = [];
  const stats = await crew.write(base, dated, (count) => told.push(count));
  expect(told.length).toBeGreaterThan(1);
  expect(told.reduce((sum, count) => sum + count, 0)).toBe(stats.filter((stat) => stat !== undefined).length);
  for (const [i, file] of dated.entries()) {
    const path = join(base, file.path);
    const seen = lstatSync(path, { bigint: true });
    expect(readFileSync(path).equals(contents[i] ?? Buffer.from("none"))).toBe(true);
    expect(stats[i]).toMatchObject({ kind: "file", mode: file.mode, size: file.size, ino: seen.ino, dev: seen.dev });
    expect(stats[i]).toMatchObject({ mtimeNs: seen.mtimeNs, ctimeNs: seen.ctimeNs, nlink: 1, uid: Number(seen.uid) });
  }
  expect(lstatSync(join(base, "in/f9"), { bigint: true }).mtimeNs).toBe(1_000_000_000_123_456_789n);
});

test("few files are left to the caller, because threads would take longer", async () => {
  const { base, files, crew } = await rig(numbered(40));
  expect(await crew.write(base, files)).toEqual(files.map(() => undefined));
  expect(readdirSync(base)).toEqual(["in"]);
});

test("threads that already run for the same folder take fewer files, too", async () => {
  const { base, files, crew } = await rig(numbered(MANY));
  const some = files.slice(0, 300).map((file, i) => ({ ...file, path: parsePath(`in/again-${i}`) }));
  expect((await crew.write(base, some)).filter((stat) => stat !== undefined)).toEqual([]);
  await crew.write(base, files);
  expect((await crew.write(join(base, "in"), some)).filter((stat) => stat !== undefined)).toEqual([]);
  expect((await crew.write(base, some)).filter((stat) => stat !== undefined)).toHaveLength(300);
  const fewer = some.slice(0, 100).map((file, i) => ({ ...file, path: parsePath(`in/fewer-${i}`) }));
  expect((await crew.write(base, fewer)).filter((stat) => stat !== undefined)).toEqual([]);
});

test("a file is not written if its content is not stored, its size is wrong, its name is taken or its folder is missing", async () => {
  const { base, files, crew } = await rig(numbered(MANY));
  const unknown = "0".repeat(64) as Hash;
  const odd = files.map((file, i) => {
    if (i === 1) return { ...file, hash: unknown };
    if (i === 2) return { ...file, size: file.size + 1 };
    if (i === 3) return { ...file, path: parsePath("f0") };
    if (i === 4) return { ...file, path: parsePath("none/f4") };
    return file;
  });
  let told = 0;
  const stats = await crew.write(base, odd, (count) => (told += count));
  const left = stats.flatMap((stat, i) => (stat === undefined ? [i] : []));
  // Two files have the same name, so only one of them is written.
  expect(left.filter((i) => i > 0 && i !== 3)).toEqual([1, 2, 4]);
  expect(left).toHaveLength(4);
  expect(told).toBe(odd.length - left.length);
  expect(statSync(join(base, "f0")).isFile()).toBe(true);
  expect(readdirSync(base)).toHaveLength(1 + odd.filter(({ path }) => !path.includes("/")).length - 2);
});

test("a content that is damaged in its pack is never written", async () => {
  const contents = numbered(MANY);
  const { base, layout, files, crew } = await rig(contents);
  const [lane] = readdirSync(join(layout.blobs.packs, "active"));
  const pack = join(layout.blobs.packs, "active", lane ?? "");
  truncateSync(pack, Math.floor(statSync(pack).size / 2));
  const stats = await crew.write(base, files);
  const whole = stats.filter((stat) => stat !== undefined).length;
  expect(whole).toBeLessThan(MANY);
  for (const [i, { path }] of files.entries()) {
    const there = readdirSync(join(base, path.includes("/") ? "in" : ".")).includes(path.replace("in/", ""));
    expect(there).toBe(stats[i] !== undefined);
    if (there) expect(readFileSync(join(base, path)).equals(contents[i] ?? Buffer.from("none"))).toBe(true);
  }
});

test("nothing is written through a link that stands in a folder's place", async () => {
  const { base, files, crew } = await rig(numbered(MANY));
  const outside = join(base, "..", "outside");
  mkdirSync(outside);
  new NodeDisk().removeFolder(join(base, "in"));
  new NodeDisk().symlink(Buffer.from(outside), join(base, "in"));
  const stats = await crew.write(base, files);
  expect(stats.filter((stat) => stat !== undefined)).toHaveLength(MANY / 2);
  expect(readdirSync(outside)).toEqual([]);
});

test("a thread that fails leaves no file that is not reported as written", async () => {
  const contents = numbered(MANY);
  const { base, files, crew } = await rig(contents);
  // An impossible mode is not a disk error but a programming error, which ends the thread's work.
  const wrong = files.map((file, i) => (i === MANY - 200 ? { ...file, mode: 0.5 } : file));
  const stats = await crew.write(base, wrong);
  expect(stats[MANY - 200]).toBeUndefined();
  expect(stats.filter((stat) => stat === undefined).length).toBeGreaterThan(1);
  for (const [i, { path }] of wrong.entries()) {
    const there = readdirSync(join(base, path.includes("/") ? "in" : ".")).includes(path.replace("in/", ""));
    expect(there).toBe(stats[i] !== undefined);
  }
});

test("removes many files with running workers, and returns false if it removed none", async () => {
  const { base, crew, files } = await rig(numbered(MANY));
  const paths = Array.from({ length: 1_000 }, (_, i) => parsePath(`in/old${i}`));
  for (const path of paths) writeFileSync(join(base, path), "old");
  expect(await crew.remove(base, paths)).toBe(false);
  expect(readdirSync(join(base, "in")).length).toBe(1_000);
  await crew.write(base, files);
  expect(await crew.remove(base, paths)).toBe(true);
  expect(readdirSync(join(base, "in")).filter((name) => name.startsWith("old"))).toEqual([]);
  writeFileSync(join(base, paths[0] ?? ""), "old");
  expect(await crew.remove(base, paths)).toBe(false);
});
