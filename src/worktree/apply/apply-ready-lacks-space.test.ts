import { expect, it } from "vitest";
import type { Change, Entry } from "../../core/values/entry.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath, pathInRoot, type WorkspacePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";

/** A disk with room for 100 bytes, and two tracked folders. The folders in `mounts` are on disks of their own. */
function twoRoots(mounts: readonly string[]): DiskWorktree {
  const disk = new SimDisk({ capacityBytes: 100, mounts });
  for (const path of ["/one", "/two", "/store"]) if (!mounts.includes(path)) disk.makeFolder(path);
  const rules = { filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
  return new DiskWorktree({
    disk,
    roots: [
      { id: undefined, folder: "/one", ...rules },
      { id: "two", folder: "/two", ...rules },
    ],
    cacheFile: "/store/stat.cache",
    staging: undefined,
    storeFolders: ["/store"],
    clock: Date.now,
  });
}

function made(path: WorkspacePath, size: number): Change {
  const entry: Entry = { path, kind: "file", mode: 0o644, size, mtimeMs: 0, hash: sha256("x") };
  return { path: entry.path, before: undefined, after: entry };
}

const IN_ONE = parsePath("a");
const IN_TWO = pathInRoot("two", parsePath("b"));
const BOTH = [made(IN_ONE, 60), made(IN_TWO, 60)];

it("two folders on one disk must fit into its free space together", async () => {
  const report = await twoRoots([]).check({ changes: BOTH, onBlocked: "skip" });
  expect(report).toMatchObject({ applied: [], blocked: [{ reason: "no-space" }, { reason: "no-space" }] });
  expect(report.blocked[0]?.detail).toBe("120 bytes are needed and 100 are free");
});

it("folders on two disks must each fit into the free space of their own disk", async () => {
  expect(await twoRoots(["/two"]).check({ changes: BOTH, onBlocked: "skip" })).toMatchObject({ blocked: [] });
  const report = await twoRoots(["/two"]).check({ changes: [made(IN_ONE, 60), made(IN_TWO, 101)], onBlocked: "skip" });
  expect(report.blocked[0]?.detail).toBe("101 bytes are needed and 100 are free");
});
