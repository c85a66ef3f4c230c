import { expect, it } from "vitest";
import type { Change, Entry } from "../../core/values/entry.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";

function folder(path: string, mode: number): Entry {
  return { path: parsePath(path), kind: "dir", mode, size: 0, mtimeMs: 0, hash: undefined };
}

function made(path: string): Change {
  const entry: Entry = { path: parsePath(path), kind: "file", mode: 0o644, size: 1, mtimeMs: 0, hash: sha256("x") };
  return { path: entry.path, before: undefined, after: entry };
}

it("check blocks a file whose folder is missing, even if a folder further above is among the changes", async () => {
  const disk = new SimDisk();
  for (const path of ["/base", "/base/a", "/store"]) disk.makeFolder(path);
  const worktree = new DiskWorktree({
    disk,
    roots: [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
    cacheFile: "/store/stat.cache",
    staging: undefined,
    storeFolders: ["/store"],
    clock: Date.now,
  });
  const above = await worktree.inspect(parsePath("a"));
  const chmod: Change = { path: parsePath("a"), before: above, after: folder("a", 0o700) };
  const there = await worktree.check({ changes: [chmod, made("a/file")], onBlocked: "skip" });
  expect(there).toEqual({ applied: ["a", "a/file"], blocked: [] });
  const report = await worktree.check({ changes: [chmod, made("a/missing/file")], onBlocked: "skip" });
  expect(report).toMatchObject({ applied: ["a"], blocked: [{ path: "a/missing/file", reason: "no-folder" }] });
});
