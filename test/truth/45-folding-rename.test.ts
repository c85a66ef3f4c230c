import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Change } from "../../src/core/values/entry.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../src/core/filter/filter.ts";
import { HOLDS_ALL } from "../../src/core/tree/folder-traits.ts";
import { parsePath } from "../../src/core/values/path.ts";
import type { DiskPath } from "../../src/disk/disk.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { DiskWorktree } from "../../src/worktree/disk/disk-worktree.ts";
import { MountedDisk } from "../helpers/mounted-disk.ts";

/** A disk that refuses to rename anything to `DIR`. */
class Refusing extends NodeDisk {
  override rename(from: DiskPath, to: DiskPath): void {
    if (String(to).endsWith("/DIR")) throw Object.assign(new Error("not now"), { code: "EACCES" });
    super.rename(from, to);
  }
}

describe("Truth 45: a rename of a folder that changes only its case, and fails", () => {
  const whyNot = MountedDisk.whyNot("exfat");

  it.skipIf(whyNot !== undefined).each(["fail", "skip"] as const)(
    "leaves the folder under its old name, with its contents (%s)",
    async (onBlocked) => {
      using mounted = new MountedDisk("exfat");
      const root = mounted.home;
      mkdirSync(join(root, "dir/sub"), { recursive: true });
      for (const name of ["dir/a.txt", "dir/sub/b.txt"]) writeFileSync(join(root, name), name);
      const worktree = new DiskWorktree({
        disk: new Refusing(),
        roots: [{ id: undefined, folder: root, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
        cacheFile: join(root, "..", "none", "stat.cache"),
        staging: undefined,
        storeFolders: [],
        clock: () => Date.now(),
        traitsOf: () => ({
          ...HOLDS_ALL,
          fileSystem: "exfat",
          ...{ modes: false, symlinks: false, hardLinks: false, ctime: false },
          names: { caseInsensitive: true },
        }),
      });
      const changes: Change[] = [];
      const contents = new Map<string, Buffer>();
      for (const name of ["dir", "dir/a.txt", "dir/sub", "dir/sub/b.txt"]) {
        const path = parsePath(name);
        const before = await worktree.inspect(path);
        if (before === undefined) throw new Error("not there");
        const moved = parsePath(name.replace("dir", "DIR"));
        changes.push(
          { path, before, after: undefined },
          { path: moved, before: undefined, after: { ...before, path: moved } },
        );
        if (before.hash !== undefined) contents.set(before.hash, Buffer.from(name));
      }
      const report = await worktree.apply({
        ...{ token: "TOKEN", changes, onBlocked },
        contents: async function* (hashes) {
          for (const hash of hashes) {
            const bytes = contents.get(hash) ?? Buffer.alloc(0);
            const pieces = async function* (): AsyncGenerator<Uint8Array> {
              yield bytes;
            };
            yield [hash, { size: bytes.length, pieces }] as const;
          }
        },
      });
      expect(report.applied).toEqual([]);
      expect(report.blocked).not.toEqual([]);
      expect(readdirSync(root)).toEqual(["dir"]);
      expect(readdirSync(join(root, "dir")).toSorted()).toEqual(["a.txt", "sub"]);
      expect(readFileSync(join(root, "dir/sub/b.txt"), "utf8")).toBe("dir/sub/b.txt");
      await worktree.close();
    },
  );
});
