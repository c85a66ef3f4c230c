import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Entry } from "../../core/values/entry.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import type { DiskPath } from "../../disk/disk.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";

/** A disk without hard links, on which no new file can be put in the place of `a`. */
class WithoutLinks extends NodeDisk {
  wasBusy = false;
  #isMoved = false;

  override link(): void {
    throw Object.assign(new Error("EPERM"), { code: "EPERM" });
  }

  override rename(from: DiskPath, to: DiskPath): void {
    // The second rename puts the new file in place, after the first one has moved the old file away.
    if (this.#isMoved && String(to).endsWith("/a") && !fs.existsSync(String(to)) && !this.wasBusy) {
      this.wasBusy = true;
      throw Object.assign(new Error("EBUSY"), { code: "EBUSY" });
    }
    super.rename(from, to);
    if (String(from).endsWith("/a")) this.#isMoved = true;
  }
}

function entry(path: string, content: string): Entry {
  return { path: parsePath(path), kind: "file", mode: 0o644, size: content.length, mtimeMs: 0, hash: sha256(content) };
}

test.each(["skip", "fail"] as const)(
  "without hard links, a file whose replacement cannot be put in place keeps its name and content (%s)",
  async (onBlocked) => {
    const base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "without-links-")));
    try {
      for (const name of ["root", "store"]) fs.mkdirSync(join(base, name));
      fs.writeFileSync(join(base, "root/a"), "old", { mode: 0o644 });
      const disk = new WithoutLinks();
      const worktree = new DiskWorktree({
        disk,
        roots: [{ id: undefined, folder: join(base, "root"), filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
        cacheFile: join(base, "store/stat.cache"),
        staging: undefined,
        storeFolders: [join(base, "store")],
        clock: Date.now,
      });
      const report = await worktree.apply({
        token: "01LINKS",
        changes: [{ path: parsePath("a"), before: entry("a", "old"), after: entry("a", "new") }],
        onBlocked,
        async *contents(hashes) {
          async function* pieces(): AsyncGenerator<Uint8Array> {
            yield Buffer.from("new");
          }
          for (const hash of hashes) yield [hash, { size: 3, pieces }] as const;
        },
      });
      await worktree.close();
      expect(disk.wasBusy).toBe(true);
      expect(report).toMatchObject({ applied: [], blocked: [{ path: "a", reason: "busy" }] });
      expect(fs.readFileSync(join(base, "root/a"), "utf8")).toBe("old");
    } finally {
      fs.rmSync(base, { recursive: true, force: true });
    }
  },
);
