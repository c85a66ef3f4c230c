import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
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

/** A disk on which the barrier's folder cannot be made, or cannot be watched. It knows its open watches. */
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
  "where the system refuses the barrier (%s), changes are hinted at and nothing is settled",
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

test("a watch that cannot begin leaves no watcher open", async () => {
  const disk = new Refusing("watchFolder", new TypeError("a defect"));
  await expect(watch(disk)).rejects.toThrow("a defect");
  expect([...disk.watched]).toEqual([]);
});
