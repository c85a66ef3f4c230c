import { expect, test } from "vitest";
import { DEFAULT_FILTER } from "../../src/core/filter/filter.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { parsePath, type WorkspacePath } from "../../src/core/values/path.ts";
import type { DiskPath } from "../../src/disk/disk.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { simRandom } from "../../src/testing/sim-disk/sim-random.ts";
import { writeFully } from "../../src/disk/write-fully.ts";
import { DiskWorktree } from "../../src/worktree/disk/disk-worktree.ts";
import type { ApplyRequest } from "../../src/worktree/worktree.ts";

const [OLD, NEW, EDIT, OTHER] = ["what it was", "what it is.", "an edit    ", "another one"].map((text) =>
  Buffer.from(text),
);
const TICK_MS = 4;

const NO_LIMITS = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };

/** A time with digits below the millisecond, which only a disk with fine times has. */
const FINE_NS = 1_700_000_000_123_456_789n;

interface RigOptions {
  readonly startNs?: bigint;
  /** Called before each change of the disk is stamped. */
  readonly onStamp?: (wait: (ms: number) => unknown) => void;
  /** The clock moves in steps of this many milliseconds (default: it is exact). */
  readonly tickMs?: number;
  /** Called when the new file has its name, before anybody has looked at it. */
  readonly onNamed?: () => void;
}

/** A disk on which somebody else may act as soon as a file in the folder has its name. */
class WatchedNames extends SimDisk {
  onNamed: (() => void) | undefined;

  override link(from: DiskPath, to: DiskPath): void {
    super.link(from, to);
    this.#named(to);
  }

  override rename(from: DiskPath, to: DiskPath): void {
    super.rename(from, to);
    this.#named(to);
  }

  #named(to: DiskPath): void {
    if (String(to).endsWith("/f")) this.onNamed?.();
  }
}

/** A folder with one file, on a disk whose clock moves only when it is told to. */
function rig({ startNs = 1_700_000_000_123_000_000n, tickMs, onStamp, onNamed }: RigOptions = {}) {
  let ns = startNs;
  const wait = (ms: number) => (ns += BigInt(Math.round(ms * 1_000)) * 1_000n);
  const stamp = (): bigint => {
    onStamp?.(wait);
    if (tickMs === undefined) return ns;
    const tick = BigInt(tickMs) * 1_000_000n;
    return startNs + ((ns - startNs) / tick) * tick;
  };
  const disk = new WatchedNames({ clock: stamp });
  for (const folder of ["/base", "/store"]) disk.makeFolder(folder);
  const worktree = new DiskWorktree({
    disk,
    roots: [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits: NO_LIMITS }],
    cacheFile: "/store/stat.cache",
    staging: "/store/staging",
    storeFolders: ["/store"],
    clock: () => Number(ns / 1_000_000n),
  });
  const write = (content = EDIT) => {
    const fd = disk.open("/base/f", "update", 0o644);
    writeFully(disk, fd, content ?? Buffer.alloc(0), 0);
    disk.close(fd);
  };
  /** Writes the new content. The file gets its name `stagedMs` milliseconds after it was staged. */
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
  disk.onNamed = onNamed;
  return { disk, apply, look, wait, write };
}

test("a file that an apply has written is not read again by a scan", async () => {
  const { apply, look, wait } = rig();
  expect(await apply(30)).toMatchObject({ applied: ["f"], blocked: [] });
  expect(await look()).toEqual([]);
  wait(50);
  expect(await look()).toEqual([]);
});

test("on a disk with fine times, one tick between the writing and the naming is enough", async () => {
  const { apply, look, wait } = rig({ startNs: FINE_NS });
  await apply(TICK_MS);
  expect(await look()).toEqual([]);
  wait(50);
  expect(await look()).toEqual([]);
});

test.each([
  ["", { stagedMs: 30 }],
  [" on a disk with fine times", { stagedMs: TICK_MS, startNs: FINE_NS }],
])("an edit of the same size in the very moment of the naming is seen%s", async (_where, given) => {
  const { stagedMs, ...more } = given;
  const { apply, look, write } = rig(more);
  await apply(stagedMs);
  write();
  expect(await look()).toEqual(["f"]);
});

test("an edit between the naming and the look at the named file is seen", async () => {
  const { apply, look, write } = rig({ startNs: FINE_NS, onNamed: () => write() });
  await apply(TICK_MS);
  expect(await look()).toEqual(["f"]);
});

test.each([
  ["it was staged in the tick of its naming", { stagedMs: 0, startNs: FINE_NS }],
  ["it was staged less than two ticks before, and the disk's times are milliseconds", { stagedMs: TICK_MS }],
  ["the disk's times are whole seconds", { stagedMs: 3_000, startNs: 1_700_000_000_000_000_000n }],
])("a file is read again if %s", async (_why, { stagedMs, ...more }) => {
  const { apply, look, wait } = rig(more);
  await apply(stagedMs);
  wait(50);
  expect(await look()).toEqual(["f"]);
});

test("edits of the same size are seen at any moment, on a clock that ticks", async () => {
  let unread = 0;
  for (let seed = 1; seed <= 400; seed += 1) {
    const numbers = simRandom(seed);
    const random = (): number => numbers.below(1_000_000) / 1_000_000;
    const edits = (share: number): void => {
      while (random() < share) write(random() < 0.5 ? EDIT : OTHER);
    };
    const { disk, apply, look, wait, write } = rig({
      startNs: FINE_NS,
      tickMs: TICK_MS,
      onStamp: (pass) => pass(random() < 0.3 ? random() * TICK_MS : random() * 0.01),
      onNamed: () => edits(0.2),
    });
    await apply(random() * 2 * TICK_MS);
    edits(0.3);
    const [found] = await look();
    const isEdited = disk.content("/base/f")?.equals(NEW ?? Buffer.alloc(0)) === false;
    if (isEdited) expect(found, `seed ${seed}`).toBe("f");
    if (found === undefined) unread += 1;
    wait(1);
  }
  // Otherwise nothing was tested.
  expect(unread).toBeGreaterThan(100);
});
