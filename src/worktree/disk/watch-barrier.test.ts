import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import type { DiskPath, DiskWatch, OnFolderEvent } from "../../disk/disk.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { type RootsWatchHandle, watchRoots } from "./watch.ts";

let base: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "watch-barrier-")));
  mkdirSync(join(base, "root/sub"), { recursive: true });
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

/** A disk on which the barrier folder cannot be made or watched. `watched` has the folders with open watches. */
class Refusing extends NodeDisk {
  readonly watched = new Set<string>();
  readonly #method: "makeFolder" | "watchFolder";
  readonly #error: Error;

  constructor(method: "makeFolder" | "watchFolder", error: Error) {
    super();
    this.#method = method;
    this.#error = error;
  }

  override makeFolder(path: DiskPath, mode?: number): void {
    this.#refuse("makeFolder", path);
    super.makeFolder(path, mode);
  }

  override watchFolder(path: DiskPath, onEvent: OnFolderEvent): DiskWatch | undefined {
    this.#refuse("watchFolder", path);
    const watch = super.watchFolder(path, onEvent);
    if (watch === undefined) return undefined;
    this.watched.add(String(path));
    const close = (): void => {
      this.watched.delete(String(path));
      watch.close();
    };
    return { close };
  }

  #refuse(method: string, path: DiskPath): void {
    if (method === this.#method && String(path).endsWith("/barrier")) throw this.#error;
  }
}

const hints: string[] = [];

function watch(disk: NodeDisk): Promise<RootsWatchHandle> {
  hints.length = 0;
  return watchRoots({
    disk,
    barrierFolder: join(base, "barrier"),
    roots: [{ id: undefined, folder: join(base, "root"), filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
    ignored: () => [],
    onHint: ({ paths }) => hints.push(...(paths ?? ["everything"])),
  });
}

test.each(["makeFolder", "watchFolder"] as const)(
  "if the system refuses the barrier (%s), changes are hinted at, and `settled` returns false",
  async (method) => {
    const disk = new Refusing(method, Object.assign(new Error("no room"), { code: "ENOSPC" }));
    const handle = await watch(disk);
    expect(await handle.settled()).toBe(false);
    hints.length = 0;
    writeFileSync(join(base, "root/sub/f"), "f");
    await expect.poll(() => hints.length).toBeGreaterThan(0);
    await handle.close();
    expect([...disk.watched]).toEqual([]);
  },
);

/** A disk that refuses to watch one folder while `isShort`, as the kernel does when no watches are left. */
class Short extends NodeDisk {
  isShort = true;

  override watchFolder(path: DiskPath, onEvent: OnFolderEvent): DiskWatch | undefined {
    if (this.isShort && String(path).endsWith("/sub"))
      throw Object.assign(new Error("no watches left"), { code: "ENOSPC" });
    return super.watchFolder(path, onEvent);
  }
}

test("a refused watch is tried again a minute later, and works from then on", async () => {
  const now = vi.spyOn(performance, "now");
  const disk = new Short();
  const { open } = disk.watchUse();
  const handle = await watch(disk);
  expect([handle.degraded, await handle.settled()]).toEqual([true, false]);
  disk.isShort = false;
  expect([await handle.settled(), handle.degraded]).toEqual([false, true]);
  const later = performance.now() + 60_000;
  now.mockImplementation(() => later);
  hints.length = 0;
  const both = await Promise.all([handle.settled(), handle.settled()]);
  expect([handle.degraded, ...both]).toEqual([false, true, true]);
  expect(hints).toContain("everything");
  hints.length = 0;
  writeFileSync(join(base, "root/sub/f"), "f");
  expect(await handle.settled()).toBe(true);
  expect(hints).toEqual(["sub/f"]);
  await handle.close();
  expect(disk.watchUse().open).toBe(open);
  now.mockRestore();
});

test("a watch that stays refused is tried less and less often", async () => {
  const now = vi.spyOn(performance, "now");
  let time = performance.now();
  now.mockImplementation(() => time);
  const disk = new Short();
  const tries = vi.spyOn(disk, "fileSystemOf");
  const handle = await watch(disk);
  const counts: number[] = [];
  for (let minutes = 0; minutes < 60; minutes += 1) {
    for (let i = 0; i < 6; i += 1) {
      time += 10_000;
      await handle.settled();
    }
    counts.push(tries.mock.calls.length);
  }
  expect(handle.degraded).toBe(true);
  expect((counts.at(-1) ?? 0) - (counts.at(-11) ?? 0)).toBeLessThanOrEqual(4 + 60);
  await handle.close();
  now.mockRestore();
});

test("a watch that cannot begin leaves no watcher open", async () => {
  const disk = new Refusing("watchFolder", new TypeError("a defect"));
  await expect(watch(disk)).rejects.toThrow("a defect");
  expect([...disk.watched]).toEqual([]);
});
