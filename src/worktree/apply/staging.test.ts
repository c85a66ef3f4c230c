import { expect, it } from "vitest";
import type { Change } from "../../core/values/entry.ts";
import { DEFAULT_FILTER } from "../../core/filter/filter.ts";
import { parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";

it("an apply tries once whether files can be renamed out of the store, and again on a resumption or a new staging folder", async () => {
  let tried = 0;
  const disk = SimDisk.fromTree({ "/store": { folder: 0o700 }, "/base": { folder: 0o755 } });
  const rename = disk.rename.bind(disk);
  disk.rename = (from, to) => {
    if (from.toString().includes("no-such-name")) tried += 1;
    rename(from, to);
  };
  const worktree = new DiskWorktree({
    disk,
    roots: [
      {
        id: undefined,
        folder: "/base",
        filter: DEFAULT_FILTER,
        limits: { maxEntries: 0, maxBytes: 0, maxFileSize: 0 },
      },
    ],
    cacheFile: "/store/stat.cache",
    staging: "/store/staging",
    storeFolders: ["/store"],
    clock: () => 1_800_000_000_000,
  });
  const make = async (name: string, resume = false): Promise<readonly string[]> => {
    const path = parsePath(name);
    const after = { path, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined } as const;
    const changes: Change[] = [{ path, before: undefined, after }];
    const contents = async function* () {};
    return (await worktree.apply({ token: "T", changes, contents, onBlocked: "fail", resume })).applied;
  };
  expect([await make("a"), await make("b")]).toEqual([["a"], ["b"]]);
  expect(tried).toBe(1);
  expect(await make("c", true)).toEqual(["c"]);
  expect(tried).toBe(2);
  disk.rename("/store/staging", "/store/other");
  expect(await make("d")).toEqual(["d"]);
  expect(tried).toBe(3);
  await worktree.close();
});
