import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { TrackedRoot, WatchHandle } from "../worktree.ts";
import type { DiskPath, DiskWatch, FileStat, FileSystem, OnFolderEvent } from "../../disk/disk.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { watchRoots } from "./watch.ts";
import { OwnTime } from "../../../test/helpers/own-time.ts";

/**
 * A disk on which all folders have one inode number, as if the file system gave the number of a removed folder to a new
 * folder.
 */
class OneNumberDisk extends NodeDisk {
  override lstat(path: DiskPath): FileStat | undefined {
    const stat = super.lstat(path);
    return stat?.kind === "dir" ? { ...stat, ino: 7n } : stat;
  }
}

/** A disk that claims to be a network file system, which other machines can change as well. */
class SharedDisk extends NodeDisk {
  override fileSystemOf(): FileSystem {
    return { kind: "nfs4", isLinux: false, mount: "server:/ nfs4" };
  }
}

class CountingDisk extends NodeDisk {
  readonly watched: string[] = [];

  override watchFolder(path: DiskPath, onEvent: OnFolderEvent): DiskWatch | undefined {
    this.watched.push(String(path));
    return super.watchFolder(path, onEvent);
  }
}

describe("watchRoots", () => {
  let folder: string;
  let own: string;
  let handle: WatchHandle | undefined;
  let hints: (readonly string[] | undefined)[];

  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "watch-")));
    own = realpathSync(mkdtempSync(join(tmpdir(), "watch-own-")));
    hints = [];
  });

  afterEach(async () => {
    await handle?.close();
    for (const one of [folder, own]) rmSync(one, { recursive: true, force: true });
  });

  async function watch(
    at = folder,
    ignored: readonly string[] = [],
    disk = new NodeDisk(),
    only?: string,
  ): Promise<void> {
    const single = only === undefined ? {} : { only };
    const root: TrackedRoot = { id: undefined, folder: at, ...single, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
    handle = await watchRoots({
      disk,
      barrierFolder: join(own, "barrier"),
      roots: [root],
      ignored: () => ignored,
      onHint: ({ paths }) => hints.push(paths),
    });
  }

  test("on a network file system, everything is hinted at now and then, and `settled` returns false", async () => {
    await watch(folder, [], new SharedDisk());
    expect(handle?.degraded).toBe(true);
    await until(() => hints.includes(undefined));
    hints = [];
    writeFileSync(join(folder, "here"), "x");
    await until(() => hints.flat().includes("here"));
    expect(await handle?.settled()).toBe(false);
    hints = [];
    await until(() => hints.includes(undefined));
  });

  test("if a root is a single file, only that file and its WAL are hinted at, and no other folder is watched", async () => {
    mkdirSync(join(folder, "many/folders"), { recursive: true });
    writeFileSync(join(folder, "one"), "1");
    const disk = new CountingDisk();
    await watch(folder, [], disk, "one");
    writeFileSync(join(folder, "other"), "x");
    writeFileSync(join(folder, "many/x"), "x");
    mkdirSync(join(folder, "new"));
    writeFileSync(join(folder, "new.tmp"), "2");
    renameSync(join(folder, "new.tmp"), join(folder, "one"));
    await until(() => hints.flat().includes("one"));
    writeFileSync(join(folder, "one-shm"), "x");
    // If `one` is a database, `one-wal` forms one unit with it.
    writeFileSync(join(folder, "one-wal"), "x");
    await until(() => hints.flat().includes("one-wal"));
    expect(new Set(hints.flat())).toEqual(new Set(["one", "one-wal"]));
    expect(disk.watched.filter((path) => path.startsWith(folder) && path !== folder)).toEqual([]);
    rmSync(join(folder, "one"));
    mkdirSync(join(folder, "one"));
    await until(() => disk.watched.includes(join(folder, "one")));
    hints = [];
    writeFileSync(join(folder, "one/in"), "x");
    await until(() => hints.flat().includes("one/in"));
  });

  test.skipIf(process.platform !== "linux")(
    "9,000 folders are watched anew only once, and the ends of their old watches do not overflow the kernel's queue",
    async () => {
      for (let i = 0; i < 90; i += 1)
        for (let j = 0; j < 100; j += 1) mkdirSync(join(folder, `d${i}/e${j}`), { recursive: true });
      const disk = new CountingDisk();
      await watch(folder, [], disk);
      const before = disk.watchLosses();
      disk.watched.length = 0;
      writeFileSync(join(folder, ".gitignore"), "");
      await until(() => hints.includes(undefined));
      const again = disk.watched.length;
      expect(again).toBeGreaterThan(9_000);
      await sleep(4_000);
      expect([disk.watched.length, disk.watchLosses()]).toEqual([again, before]);
      expect(await handle?.settled()).toBe(true);
      await handle?.close();
      expect(disk.watchLosses()).toBe(before);
    },
  );

  /** Waits for `condition`. Beside a dozen busy processes, a hint took longer than five seconds. */
  async function until(condition: () => boolean): Promise<void> {
    const end = performance.now() + 30_000;
    while (!condition() && performance.now() < end) await new Promise((done) => setTimeout(done, 10));
    expect(condition()).toBe(true);
  }

  test("changed paths are hinted at, but not those in excluded folders", async () => {
    mkdirSync(join(folder, "out"));
    mkdirSync(join(folder, "src"));
    await watch(folder, [join(folder, "out")]);
    expect(handle?.degraded).toBe(false);
    writeFileSync(join(folder, "out/x"), "x");
    writeFileSync(join(folder, "src/a"), "a");
    await until(() => hints.flat().includes("src/a"));
    expect(hints.flat()).not.toContain("out/x");
  });

  test("a single change is hinted at immediately, and many changes in a row make few hints", async () => {
    await watch();
    const waited: number[] = [];
    for (const name of ["a", "b", "c", "d", "e"]) {
      await new Promise((done) => setTimeout(done, 100));
      using own = new OwnTime();
      writeFileSync(join(folder, name), name);
      await until(() => hints.flat().includes(name));
      waited.push(own.ms);
    }
    expect(Math.min(...waited)).toBeLessThan(35);
    const before = hints.length;
    const end = performance.now() + 400;
    let written = 0;
    for (; performance.now() < end; written += 1) {
      writeFileSync(join(folder, `burst-${written}`), "x");
      await new Promise((done) => setTimeout(done, 2));
    }
    await until(() => hints.flat().includes(`burst-${written - 1}`));
    expect(hints.length - before).toBeLessThan(14);
  });

  test("a folder that becomes tracked is watched from then on", async () => {
    mkdirSync(join(folder, "out"));
    let ignored = [join(folder, "out")];
    const root: TrackedRoot = { id: undefined, folder, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
    handle = await watchRoots({
      disk: new NodeDisk(),
      barrierFolder: join(own, "barrier"),
      roots: [root],
      ignored: () => ignored,
      onHint: ({ paths }) => hints.push(paths),
    });
    ignored = [];
    writeFileSync(join(folder, ".gitignore"), "");
    await until(() => hints.includes(undefined));
    writeFileSync(join(folder, "out/x"), "x");
    await until(() => hints.flat().includes("out/x"));
  });

  test("a folder that the rules no longer exclude is watched after the next full scan", async () => {
    for (const name of ["out", "away", "kept"]) mkdirSync(join(folder, name));
    const ignored = new Set(["out", "away", "kept"].map((name) => join(folder, name)));
    const root: TrackedRoot = { id: undefined, folder, filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS };
    const watching = await watchRoots({
      disk: new NodeDisk(),
      barrierFolder: join(own, "barrier"),
      roots: [root],
      ignored: () => [...ignored],
      onHint: ({ paths }) => hints.push(paths),
    });
    handle = watching;
    ignored.delete(join(folder, "out"));
    watching.looked();
    await until(() => hints.includes(undefined));
    writeFileSync(join(folder, "out/x"), "x");
    await until(() => hints.flat().includes("out/x"));
    // A removed ignored folder is no reason for another full scan.
    rmSync(join(folder, "away"), { recursive: true });
    await until(() => hints.flat().includes("away"));
    ignored.delete(join(folder, "away"));
    hints = [];
    watching.looked();
    watching.looked();
    await new Promise((done) => setTimeout(done, 100));
    expect(hints).toEqual([]);
    if (process.platform !== "linux") return;
    mkdirSync(join(folder, "away"));
    await watching.settled();
    writeFileSync(join(folder, "away/x"), "x");
    await until(() => hints.flat().includes("away/x"));
    expect(hints).not.toContain(undefined);
  });

  test("if a folder cannot be watched, everything is hinted at, and the watch is degraded", async () => {
    await watch(join(folder, "missing"));
    expect(handle?.degraded).toBe(true);
    await until(() => hints.includes(undefined));
  });

  describe.skipIf(process.platform !== "linux")("folder by folder", () => {
    test("two watches of one folder can both settle at the same time", async () => {
      await watch();
      const one = handle;
      await watch();
      try {
        for (let i = 0; i < 5; i += 1)
          expect(await Promise.all([one?.settled(), handle?.settled()])).toEqual([true, true]);
      } finally {
        await one?.close();
      }
    });

    test("once settled, every earlier change was hinted at: in new folders, in moved folders, and of any name", async () => {
      mkdirSync(join(folder, "a/b/c"), { recursive: true });
      await watch();
      for (let round = 0; round < 20; round += 1) {
        hints = [];
        mkdirSync(join(folder, `new-${round}/deep/er`), { recursive: true });
        writeFileSync(join(folder, "a/b/c/file"), String(round));
        writeFileSync(Buffer.concat([Buffer.from(`${folder}/a/`), Buffer.from([0xff, 0x41])]), String(round));
        expect(await handle?.settled()).toBe(true);
        const seen = hints.flat();
        expect(seen).toEqual(expect.arrayContaining([`new-${round}`, "a/b/c/file", "a/\uDCFFA"]));
        hints = [];
        writeFileSync(join(folder, `new-${round}/deep/er/x`), "x");
        expect(await handle?.settled()).toBe(true);
        expect(hints.flat()).toContain(`new-${round}/deep/er/x`);
      }
      hints = [];
      renameSync(join(folder, "a/b"), join(folder, "moved"));
      expect(await handle?.settled()).toBe(true);
      writeFileSync(join(folder, "moved/c/file"), "in the moved one");
      expect(await handle?.settled()).toBe(true);
      expect(hints.flat()).toEqual(expect.arrayContaining(["a/b", "moved", "moved/c/file"]));
    });

    test.skipIf(process.platform !== "linux")(
      "after more events than the kernel's queue holds, `settled` returns false once, and everything is hinted at",
      async () => {
        await watch();
        const file = join(folder, "one");
        for (let i = 0; i < 20_000; i += 1) {
          writeFileSync(file, "x");
          rmSync(file);
        }
        expect(await handle?.settled()).toBe(false);
        expect(hints).toContain(undefined);
        writeFileSync(file, "y");
        expect(await handle?.settled()).toBe(true);
      },
    );

    test.skipIf(process.platform !== "linux")(
      "the same is true of a root that is one file, if events of other names have filled the queue",
      async () => {
        await watch(folder, [], new NodeDisk(), "tracked");
        for (let i = 0; i < 20_000; i += 1) {
          writeFileSync(join(folder, "other"), "x");
          rmSync(join(folder, "other"));
        }
        writeFileSync(join(folder, "tracked"), "x");
        // During this pause, the watch takes the events that are still in the queue.
        await sleep(500);
        const isWhole = (await handle?.settled()) === true;
        expect(isWhole && !hints.flat().includes("tracked") && !hints.includes(undefined)).toBe(false);
        expect(hints).toContain(undefined);
      },
    );

    test.each(["who asks", "who only listens"])(
      "a folder that was made while the kernel's queue was full is watched, for a caller %s",
      async (who) => {
        await watch();
        const file = join(folder, "one");
        for (let i = 0; i < 8_000; i += 1) {
          writeFileSync(file, "x");
          rmSync(file);
        }
        mkdirSync(join(folder, "late"));
        if (who === "who asks") expect(await handle?.settled()).toBe(false);
        // A hint at everything replaces the single hints of the same batch, so the file is written again and again.
        await until(() => {
          writeFileSync(join(folder, "late/x"), "y");
          return hints.flat().includes("late/x");
        });
      },
    );

    test("if the barrier folder is removed, `settled` returns false", async () => {
      await watch();
      rmSync(join(own, "barrier"), { recursive: true });
      expect(await handle?.settled()).toBe(false);
    });

    test("a folder that is made again with its old inode number is watched, together with its contents", async () => {
      mkdirSync(join(folder, "a/b"), { recursive: true });
      await watch(folder, [], new OneNumberDisk());
      for (let round = 0; round < 5; round += 1) {
        rmdirSync(join(folder, "a/b"));
        if (round % 2 === 0) rmdirSync(join(folder, "a"));
        mkdirSync(join(folder, "a/b"), { recursive: true });
        expect(await handle?.settled()).toBe(true);
        hints = [];
        writeFileSync(join(folder, "a/x"), "x");
        writeFileSync(join(folder, "a/b/x"), "x");
        expect(await handle?.settled()).toBe(true);
        expect(hints.flat()).toEqual(expect.arrayContaining(["a/x", "a/b/x"]));
        for (const name of ["a/x", "a/b/x"]) rmSync(join(folder, name));
      }
    });

    test("a tracked folder that is made again with its old inode number is watched", async () => {
      const inner = join(folder, "root");
      mkdirSync(inner);
      await watch(inner, [], new OneNumberDisk());
      rmdirSync(inner);
      mkdirSync(join(inner, "a"), { recursive: true });
      await until(() => hints.includes(undefined));
      expect(await handle?.settled()).toBe(true);
      hints = [];
      writeFileSync(join(inner, "a/x"), "x");
      expect(await handle?.settled()).toBe(true);
      expect(hints.flat()).toContain("a/x");
    });

    test("if the tracked folder is removed, the watch is degraded, and `settled` returns false", async () => {
      const inner = join(folder, "root");
      mkdirSync(inner);
      await watch(inner);
      rmSync(inner, { recursive: true });
      await until(() => handle?.degraded === true);
      expect(await handle?.settled()).toBe(false);
    });
  });

  test("after 2,500 events, everything is hinted at", async () => {
    mkdirSync(join(folder, "many"));
    await watch();
    for (let i = 0; i < 2500; i += 1) writeFileSync(join(folder, `many/${i}`), "");
    await until(() => hints.includes(undefined));
  });
});
