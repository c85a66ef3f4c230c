import { expect, test } from "vitest";
import { DEFAULT_FILTER } from "../../src/core/filter/filter.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { parsePath, type WorkspacePath } from "../../src/core/values/path.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { writeFully } from "../../src/disk/write-fully.ts";
import { DiskWorktree } from "../../src/worktree/disk/disk-worktree.ts";
import type { ApplyRequest } from "../../src/worktree/worktree.ts";

const [OLD, NEW, EDIT] = ["what it was", "what it is.", "an edit    "].map((text) => Buffer.from(text));
const TICK_MS = 4;

const NO_LIMITS = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };

/** A folder with one file, on a disk whose clock moves only when it is told to. */
function rig({ startNs = 1_700_000_000_123_000_000n } = {}) {
  let ns = startNs;
  const disk = new SimDisk({ clock: () => ns });
  for (const folder of ["/base", "/store"]) disk.makeFolder(folder);
  const worktree = new DiskWorktree({
    disk,
    roots: [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits: NO_LIMITS }],
    cacheFile: "/store/stat.cache",
    staging: "/store/staging",
    storeFolders: ["/store"],
    clock: () => Number(ns / 1_000_000n),
  });
  const wait = (ms: number) => (ns += BigInt(ms) * 1_000_000n);
  const write = (content = EDIT) => {
    const fd = disk.open("/base/f", "update", 0o644);
    writeFully(disk, fd, content ?? Buffer.alloc(0), 0);
    disk.close(fd);
  };
  /** Writes the new content; so long after it was staged it gets its name. */
  const apply = async (stagedMs: number) => {
    const path = parsePath("f");
    const entryOf = (content = OLD) => {
      const bytes = content ?? Buffer.alloc(0);
      return { path, kind: "file", mode: 0o644, size: bytes.length, mtimeMs: 1, hash: sha256(bytes) } as const;
    };
    async function* contents(): ReturnType<ApplyRequest["contents"]> {
      const bytes = NEW ?? Buffer.alloc(0);
      yield [
        sha256(bytes),
        {
          size: bytes.length,
          pieces: async function* () {
            yield bytes;
          },
        },
      ];
      wait(stagedMs);
    }
    const changes = [{ path, before: entryOf(OLD), after: entryOf(NEW) }];
    return worktree.apply({ token: "t", changes, contents, onBlocked: "fail" });
  };
  const look = async (): Promise<WorkspacePath[]> => {
    const found: WorkspacePath[] = [];
    await worktree.scan({ only: [parsePath("f")] }, (batch) => found.push(...batch.map(({ path }) => path)));
    return found;
  };
  write(OLD);
  wait(10_000);
  return { disk, apply, look, wait, write };
}

test("what was written by an apply is not read again when it is looked at", async () => {
  const { apply, look, wait } = rig();
  expect(await apply(30)).toMatchObject({ applied: ["f"], blocked: [] });
  expect(await look()).toEqual([]);
  wait(50);
  expect(await look()).toEqual([]);
});

test("an edit of as many bytes in the very moment in which it got its name is seen", async () => {
  const { apply, look, write } = rig();
  await apply(30);
  write();
  expect(await look()).toEqual(["f"]);
});

test.each([
  ["it was staged less than two ticks before", { stagedMs: TICK_MS }],
  ["the disk's times are whole seconds", { stagedMs: 3_000, startNs: 1_700_000_000_000_000_000n }],
])("where %s, it is read again", async (_why, { stagedMs, ...more }) => {
  const { apply, look, wait } = rig(more);
  await apply(stagedMs);
  wait(50);
  expect(await look()).toEqual(["f"]);
});
