import { expect, test } from "vitest";
import type { EntryKind } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { KnownPath } from "../worktree.ts";
import { sha256 } from "../../core/values/hash.ts";
import { comparePaths, pathFromBytes, pathInRoot, parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { loadStatCache, saveStatCache } from "./stat-cache-file.ts";
import { StatCache } from "./stat-cache.ts";
import { processorTime } from "../../testing/processor-time.ts";

const LATER = 2_000_000_000_000_000_000n;

function known(path: WorkspacePath, kind: EntryKind = "file", n = 1): KnownPath {
  const stat: FileStat = {
    kind,
    mode: kind === "dir" ? 0o755 : 0o644,
    size: kind === "dir" ? 4096 : n,
    mtimeNs: 1_700_000_000_123_456_789n + BigInt(n),
    ctimeNs: 1_700_000_000_987_654_321n,
    ino: 2n ** 63n + BigInt(n),
    dev: 66n,
    nlink: 1,
    uid: 1000,
  };
  const hash = kind === "dir" ? undefined : sha256(path + n);
  const mtimeMs = kind === "dir" ? 0 : 1_700_000_000_123;
  const mtimeRestNs = kind === "dir" ? undefined : 456_789;
  return { entry: { path, kind, mode: stat.mode, size: kind === "dir" ? 0 : n, mtimeMs, mtimeRestNs, hash }, stat };
}

function names(cache: StatCache, folder: string): string[] {
  const path = folder as WorkspacePath;
  return cache
    .children(path, cache.rowOf(path))
    .map((child) => child.name)
    .sort();
}

/** Paths whose order is special, that are not UTF-8, or that lie in another root. */
const ODD: readonly WorkspacePath[] = [
  parsePath("a"),
  parsePath("a/b"),
  parsePath("a-"),
  parsePath("a.b"),
  parsePath("é"),
  parsePath("😀"),
  parsePath("\uFB33"),
  pathFromBytes(Buffer.from([0x61, 0x2f, 0xff])),
  pathInRoot("two", parsePath("x/y")),
];

test("paths that were put are found before and after a merge, and after saving and loading", () => {
  const disk = new SimDisk();
  disk.makeFolder("/s");
  const cache = new StatCache();
  for (const [n, path] of ODD.entries()) cache.put(known(path, path === "a" ? "dir" : "file", n), LATER);
  const check = (one: StatCache): void => {
    for (const [n, path] of ODD.entries()) {
      expect(one.get(path)).toEqual({ ...known(path, path === "a" ? "dir" : "file", n), racy: false });
    }
    expect(one.get(parsePath("missing"))).toBeUndefined();
    expect(one.get("\0two/x" as WorkspacePath)).toBeUndefined();
    expect(names(one, "a")).toEqual(["b", "\uDCFF"].sort());
    expect(one.totals("two").entries).toBe(1);
    expect(one.totals(undefined).entries).toBe(8);
  };
  check(cache);
  cache.merge();
  check(cache);
  saveStatCache(disk, "/s/stat.cache", { cache, seq: 42, file: undefined });
  const loaded = loadStatCache(disk, "/s/stat.cache");
  expect(loaded?.seq).toBe(42);
  if (loaded !== undefined) check(loaded.cache);
});

test("changes, removals and merges in any order agree with a plain map", () => {
  let seed = 7;
  const random = (n: number): number => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
  const model = new Map<WorkspacePath, KnownPath>();
  const cache = new StatCache();
  const parts = ["a", "b", "a-", "c.d", "é"];
  for (let step = 0; step < 4000; step += 1) {
    const depth = 1 + random(4);
    const path = parsePath(Array.from({ length: depth }, () => parts[random(parts.length)]).join("/"));
    if (random(3) === 0) {
      model.delete(path);
      cache.remove(path);
    } else {
      const one = known(path, "file", random(1000));
      model.set(path, one);
      cache.put(one, LATER);
    }
    if (random(200) === 0) cache.merge();
    if (step % 97 !== 0) continue;
    const all = [...cache.beneath("" as WorkspacePath, -1)].sort(comparePaths);
    expect(all).toEqual([...model.keys()].sort(comparePaths));
    expect(cache.totals(undefined).entries).toBe(model.size);
    for (const [known, value] of model) expect(cache.get(known)?.entry).toEqual(value.entry);
  }
});

test("a file that was changed less than two seconds before it was read is racy", () => {
  const cache = new StatCache();
  const one = known(parsePath("a"));
  cache.put(one, one.stat.ctimeNs + 1_999_999_999n);
  expect(cache.get(parsePath("a"))?.racy).toBe(true);
  cache.put(one, one.stat.ctimeNs + 2_000_000_001n);
  expect(cache.get(parsePath("a"))?.racy).toBe(false);
});

test("a few changes are appended to the file, and a torn one is ignored when the file is loaded", () => {
  const disk = new SimDisk();
  disk.makeFolder("/s");
  const cache = new StatCache();
  const [a, b, c] = [parsePath("a"), parsePath("b"), parsePath("c/d")];
  cache.put(known(a), LATER);
  cache.put(known(b), LATER);
  let file = saveStatCache(disk, "/s/c", { cache, seq: 1, file: undefined });
  const base = disk.lstat("/s/c")?.size ?? 0;
  cache.remove(a);
  cache.put(known(c), LATER);
  cache.excluded.set(a, [{ name: "x", detail: "y", isFolder: false }]);
  file = saveStatCache(disk, "/s/c", { cache, seq: 2, file });
  const appended = disk.lstat("/s/c")?.size ?? 0;
  expect(appended).toBeGreaterThan(base);
  const loaded = loadStatCache(disk, "/s/c");
  expect(loaded).toMatchObject({ seq: 2, file });
  expect(loaded?.cache.get(a)).toBeUndefined();
  expect(loaded?.cache.get(c)).toEqual(cache.get(c));
  expect([...(loaded?.cache.excluded ?? [])]).toEqual([...cache.excluded]);
  expect(saveStatCache(disk, "/s/c", { cache, seq: 3, file })).toBe(file);
  expect(disk.lstat("/s/c")?.size).toBe(appended);
  const fd = disk.open("/s/c", "update");
  disk.truncate(fd, appended - 1);
  disk.close(fd);
  const torn = loadStatCache(disk, "/s/c");
  expect(torn).toMatchObject({ seq: 1, file: undefined });
  expect(torn?.cache.get(a)).toBeDefined();
});

test("changes are not appended to a file that another process has written meanwhile: the file is written anew", () => {
  const disk = new SimDisk();
  disk.makeFolder("/s");
  const [a, b, c] = [parsePath("a"), parsePath("b"), parsePath("c")];
  const cache = new StatCache();
  cache.put(known(a), LATER);
  cache.put(known(b), LATER);
  const file = saveStatCache(disk, "/s/c", { cache, seq: 2, file: undefined });
  const others = new StatCache();
  others.put(known(a), LATER);
  saveStatCache(disk, "/s/c", { cache: others, seq: 1, file: undefined });
  expect(saveStatCache(disk, "/s/c", { cache, seq: 2, file })).toBe(file);
  expect(loadStatCache(disk, "/s/c")?.seq).toBe(1);
  cache.put(known(c), LATER);
  saveStatCache(disk, "/s/c", { cache, seq: 3, file });
  const loaded = loadStatCache(disk, "/s/c");
  expect(loaded?.seq).toBe(3);
  expect([a, b, c].map((path) => loaded?.cache.get(path))).toEqual([a, b, c].map((path) => cache.get(path)));
});

test("paths that are put into an empty cache all at once are saved", () => {
  const disk = new SimDisk();
  disk.makeFolder("/s");
  const file = saveStatCache(disk, "/s/c", { cache: new StatCache(), seq: 1, file: undefined });
  const kept = loadStatCache(disk, "/s/c");
  if (kept === undefined) throw new Error("not loaded");
  kept.cache.putAll([known(parsePath("a")), known(parsePath("b"))], LATER);
  saveStatCache(disk, "/s/c", { cache: kept.cache, seq: 2, file });
  expect(loadStatCache(disk, "/s/c")?.cache.get(parsePath("b"))).toEqual(kept.cache.get(parsePath("b")));
});

test("a damaged file counts as missing", () => {
  const disk = new SimDisk();
  disk.makeFolder("/s");
  const cache = new StatCache();
  for (let i = 0; i < 20; i += 1) cache.put(known(parsePath(`f${i}`)), LATER);
  saveStatCache(disk, "/s/c", { cache, seq: 1, file: undefined });
  const size = disk.lstat("/s/c")?.size ?? 0;
  const fd = disk.open("/s/c", "update");
  for (let at = 0; at < size; at += 13) {
    const byte = Buffer.alloc(1);
    disk.read(fd, byte, at);
    disk.write(fd, Buffer.from([(byte[0] ?? 0) ^ 0x40]), at);
    expect(loadStatCache(disk, "/s/c")).toBeUndefined();
    disk.write(fd, byte, at);
  }
  expect(loadStatCache(disk, "/s/c")).toBeDefined();
  for (const length of [size - 1, 100, 16, 3, 0]) {
    disk.truncate(fd, length);
    expect(loadStatCache(disk, "/s/c")).toBeUndefined();
  }
  disk.close(fd);
  expect(loadStatCache(disk, "/s/missing")).toBeUndefined();
});

test("many paths are small in memory and quick to load", () => {
  const cache = new StatCache();
  const total = 30_000;
  for (let i = 0; i < total; i += 1) {
    const file = parsePath(`packages/package-${Math.trunc(i / 90)}/lib/some-module-${i}.js`);
    cache.put(known(file, "file", i), LATER);
  }
  const disk = new SimDisk();
  disk.makeFolder("/s");
  saveStatCache(disk, "/s/c", { cache, seq: 1, file: undefined });
  expect(disk.lstat("/s/c")?.size).toBeLessThan(total * 200);
  const spent = processorTime();
  const loaded = loadStatCache(disk, "/s/c");
  // The goal is 60 ms for 225,000 paths. The bound for 30,000 leaves room for a slow machine.
  expect(spent()).toBeLessThan(500);
  expect(loaded?.cache.totals(undefined).entries).toBe(total);
});
