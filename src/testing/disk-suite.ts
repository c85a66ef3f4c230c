import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Disk, DiskPath } from "../disk/disk.ts";
import { errnoOf } from "../core/values/errors.ts";
import { readFully, writeFileDurably, writeFully } from "../disk/write-fully.ts";

/** A disk to test, and the folder to use. */
export interface DiskUnderTest {
  readonly disk: Disk;
  /** The absolute path of a folder that is empty, except for `fifo`. No component of the path is a link. */
  readonly folder: string;
  /** The name of a FIFO in that folder; absent if the disk cannot have one. */
  readonly fifo?: string;
  /** True if `/proc/self/fd` works: on Linux, and in the simulation. */
  readonly anchors: boolean;
  /** Called after each test, to remove its files. */
  readonly end?: () => void;
}

/** Returns the errno with which `act` fails; "none" if it does not. */
function errnoFrom(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return errnoOf(error) ?? String(error);
  }
  return "none";
}

/** The contract of `Disk`. `begin` makes a disk with a fresh folder for each test. */
export function diskSuite(name: string, begin: () => DiskUnderTest): void {
  describe(name, () => {
    let given: DiskUnderTest;
    let disk: Disk;
    const at = (path: string): string => `${given.folder}/${path}`;

    beforeEach(() => {
      given = begin();
      ({ disk } = given);
    });
    afterEach(() => given.end?.());

    function put(path: DiskPath, text: string, mode = 0o644): void {
      const fd = disk.open(path, "create", mode);
      writeFully(disk, fd, Buffer.from(text), 0);
      disk.close(fd);
    }

    function textOf(path: DiskPath): string {
      const fd = disk.open(path, "read");
      const bytes = Buffer.alloc(disk.fstat(fd).size);
      const count = readFully(disk, fd, bytes, 0);
      disk.close(fd);
      return bytes.toString("utf8", 0, count);
    }

    const write = (fd: number, text: string, position: number | null): void =>
      writeFully(disk, fd, Buffer.from(text), position);

    const namesIn = (path: DiskPath): string[] =>
      disk
        .list(path)
        .map((item) => `${item.kind} ${item.name.toString("latin1")}`)
        .toSorted();

    describe("files", () => {
      test("a file keeps what was written by position and in sequence", () => {
        const fd = disk.open(at("f"), "create");
        write(fd, "hello", null);
        write(fd, " world", null);
        write(fd, "J", 0);
        disk.sync(fd);
        const into = Buffer.alloc(20, "-");
        expect(readFully(disk, fd, into, 2)).toBe(9);
        expect(into.toString()).toBe("llo world-----------");
        expect(readFully(disk, fd, into, 11)).toBe(0);
        expect(readFully(disk, fd, into, 500)).toBe(0);
        disk.close(fd);
        expect(textOf(at("f"))).toBe("Jello world");
      });

      test("a read without a position continues where the last such read ended", () => {
        put(at("f"), "abcdef");
        const fd = disk.open(at("f"), "read");
        const into = Buffer.alloc(4);
        expect(readFully(disk, fd, into, null)).toBe(4);
        expect(readFully(disk, fd, into, 0)).toBe(4);
        expect(readFully(disk, fd, into, null)).toBe(2);
        expect(into.toString()).toBe("efcd");
        expect(readFully(disk, fd, into, null)).toBe(0);
        disk.close(fd);
      });

      test("a write beyond the end fills the gap with zeros; truncate cuts and extends", () => {
        const fd = disk.open(at("f"), "update");
        write(fd, "abc", 4);
        disk.truncate(fd, 5);
        disk.truncate(fd, 8);
        disk.close(fd);
        expect(textOf(at("f"))).toBe("\0\0\0\0a\0\0\0");
      });

      test("append writes at the end, whatever the position; update does not truncate", () => {
        put(at("f"), "one,");
        const end = disk.open(at("f"), "append");
        write(end, "two,", 0);
        write(end, "three", null);
        disk.close(end);
        const fd = disk.open(at("f"), "update");
        write(fd, "ONE", 0);
        disk.close(fd);
        expect(textOf(at("f"))).toBe("ONE,two,three");
      });

      test("append and update create a missing file; create refuses an existing one", () => {
        disk.close(disk.open(at("a"), "append"));
        disk.close(disk.open(at("u"), "update"));
        expect(errnoFrom(() => disk.open(at("a"), "create"))).toBe("EEXIST");
        expect(errnoFrom(() => disk.open(at("missing"), "read"))).toBe("ENOENT");
        expect(errnoFrom(() => disk.open(at("no/where"), "create"))).toBe("ENOENT");
        expect(errnoFrom(() => disk.open(at("a/b"), "create"))).toBe("ENOTDIR");
      });

      test("a read or write may be short, but transfers at least one byte, and returns the number", () => {
        const fd = disk.open(at("f"), "create");
        const taken = disk.write(fd, Buffer.from("abcdef"), 0);
        expect(taken).toBeGreaterThan(0);
        expect(disk.fstat(fd).size).toBe(taken);
        const given = disk.read(fd, Buffer.alloc(6), 0);
        expect(given).toBeGreaterThan(0);
        expect(given).toBeLessThanOrEqual(taken);
        expect(disk.write(fd, Buffer.alloc(0), 0)).toBe(0);
        disk.close(fd);
      });

      test("operations for which a descriptor was not opened are refused", () => {
        put(at("f"), "x");
        const reader = disk.open(at("f"), "read");
        const writer = disk.open(at("f"), "append");
        expect(errnoFrom(() => disk.write(reader, Buffer.from("y"), 0))).toBe("EBADF");
        expect(errnoFrom(() => disk.truncate(reader, 0))).toBe("EINVAL");
        expect(errnoFrom(() => disk.read(writer, Buffer.alloc(1), 0))).toBe("EBADF");
        disk.close(reader);
        disk.close(writer);
        expect(errnoFrom(() => disk.read(reader, Buffer.alloc(1), 0))).toBe("EBADF");
        expect(errnoFrom(() => disk.close(writer))).toBe("EBADF");
      });

      test("an open file outlives its name", () => {
        put(at("f"), "still here");
        const fd = disk.open(at("f"), "read");
        disk.unlink(at("f"));
        expect(disk.lstat(at("f"))).toBeUndefined();
        expect(disk.fstat(fd)).toMatchObject({ nlink: 0, size: 10 });
        expect(readFully(disk, fd, Buffer.alloc(10), 0)).toBe(10);
        disk.close(fd);
      });

      test("a mode given at creation is exact, for files and folders", () => {
        for (const mode of [0o666, 0o777, 0o600, 0o4755]) {
          const path = at(`f${mode}`);
          disk.close(disk.open(path, "create", mode));
          expect(disk.lstat(path)?.mode).toBe(mode);
        }
        disk.close(disk.open(at("append"), "append", 0o666));
        disk.close(disk.open(at("append"), "append", 0o777));
        expect(disk.lstat(at("append"))?.mode).toBe(0o666);
        for (const mode of [0o777, 0o2775, 0o500]) {
          const path = at(`d${mode}`);
          disk.makeFolder(path, mode);
          expect(disk.lstat(path)?.mode).toBe(mode);
        }
        disk.makeFolder(at("d"));
        disk.close(disk.open(at("f"), "create"));
        expect([disk.lstat(at("d"))?.mode, disk.lstat(at("f"))?.mode]).toEqual([0o700, 0o600]);
      });

      test("a stat has the kind, mode, size, links, times and identity", () => {
        put(at("f"), "four");
        const fd = disk.open(at("f"), "read");
        const open = disk.fstat(fd);
        expect(open).toEqual(disk.lstat(at("f")));
        expect(open).toMatchObject({ kind: "file", mode: 0o644, size: 4, nlink: 1 });
        disk.chmod(fd, 0o4711);
        disk.setMtime(fd, 1_234_567_890_123_000_000n);
        const after = disk.fstat(fd);
        expect(after.mode).toBe(0o4711);
        expect(after.mtimeNs / 1_000_000n).toBe(1_234_567_890_123n);
        expect(after.ctimeNs).toBeGreaterThan(1_234_567_890_123_000_000n);
        expect([after.ino, after.dev]).toEqual([open.ino, open.dev]);
        for (const ms of [1n, 999n, 1_700_000_000_001n, 1_799_999_999_999n, -5000n]) {
          for (const rest of [0n, 1n, 123_457n, 999_999n]) {
            const mtimeNs = ms * 1_000_000n + rest;
            disk.setMtime(fd, mtimeNs);
            expect(disk.fstat(fd).mtimeNs).toBe(mtimeNs);
          }
        }
        disk.close(fd);
        const folder = disk.open(given.folder, "folder");
        expect(disk.fstat(folder).kind).toBe("dir");
        disk.setMtime(folder, 5_000_000_000n);
        disk.chmod(folder, 0o750);
        expect(disk.fstat(folder)).toMatchObject({ mode: 0o750 });
        disk.close(folder);
      });

      test("a write changes the modification time; two files have different inodes", () => {
        put(at("a"), "1");
        put(at("b"), "1");
        expect(disk.lstat(at("a"))?.ino).not.toBe(disk.lstat(at("b"))?.ino);
        const fd = disk.open(at("a"), "update");
        disk.setMtime(fd, 1_000_000_000n);
        write(fd, "2", 0);
        expect(disk.fstat(fd).mtimeNs).toBeGreaterThan(1_000_000_000_000n);
        disk.close(fd);
      });
    });

    describe("names", () => {
      test("a list of a folder has the exact names and kinds", () => {
        disk.makeFolder(at("d"));
        disk.makeFolder(at("d/sub"));
        put(at("d/file"), "");
        disk.symlink(Buffer.from("file"), at("d/link"));
        expect(namesIn(at("d"))).toEqual(["dir sub", "file file", "symlink link"]);
        expect(namesIn(at("d/sub"))).toEqual([]);
        expect(errnoFrom(() => disk.list(at("none")))).toBe("ENOENT");
        expect(errnoFrom(() => disk.list(at("d/file")))).toBe("ENOTDIR");
      });

      test("names are bytes, UTF-8 or not", () => {
        const name = Buffer.from([0x66, 0xff, 0xfe, 0x80]);
        const path = Buffer.concat([Buffer.from(`${given.folder}/`), name]);
        put(path, "bytes");
        put(at("grün"), "text");
        expect(disk.lstat(path)?.size).toBe(5);
        expect(textOf(Buffer.from(at("grün")))).toBe("text");
        expect(disk.list(given.folder).some((item) => item.name.equals(name))).toBe(true);
        disk.rename(path, Buffer.concat([path, Buffer.from([0xfd])]));
        expect(disk.lstat(path)).toBeUndefined();
        const target = Buffer.from([0x80, 0x2f, 0x81]);
        disk.symlink(target, at("odd"));
        expect(disk.readlink(at("odd"))).toEqual(target);
      });

      test("lstat returns undefined for a missing path, and throws other errors", () => {
        put(at("f"), "");
        expect(disk.lstat(at("none"))).toBeUndefined();
        expect(disk.lstat(at("none/deeper"))).toBeUndefined();
        expect(disk.lstat(at("f/below"))).toBeUndefined();
        expect(errnoFrom(() => disk.lstat(at("x".repeat(256))))).toBe("ENAMETOOLONG");
      });

      test("checkWrite accepts what may be written, and throws for a missing path", () => {
        disk.makeFolder(at("d"));
        put(at("d/f"), "");
        disk.checkWrite(at("d"));
        disk.checkWrite(at("d/f"));
        expect(errnoFrom(() => disk.checkWrite(at("none")))).toBe("ENOENT");
      });

      test("folders are made and removed one at a time, and removed only when empty", () => {
        disk.makeFolder(at("d"));
        expect(errnoFrom(() => disk.makeFolder(at("d")))).toBe("EEXIST");
        expect(errnoFrom(() => disk.makeFolder(at("x/y")))).toBe("ENOENT");
        put(at("d/f"), "");
        expect(errnoFrom(() => disk.removeFolder(at("d")))).toBe("ENOTEMPTY");
        expect(errnoFrom(() => disk.removeFolder(at("d/f")))).toBe("ENOTDIR");
        expect(["EISDIR", "EPERM"]).toContain(errnoFrom(() => disk.unlink(at("d"))));
        disk.unlink(at("d/f"));
        disk.removeFolder(at("d"));
        expect(errnoFrom(() => disk.removeFolder(at("d")))).toBe("ENOENT");
        expect(errnoFrom(() => disk.unlink(at("d")))).toBe("ENOENT");
      });

      test("rename replaces a file by a file, and an empty folder by a folder", () => {
        put(at("new"), "new");
        put(at("old"), "old");
        disk.rename(at("new"), at("old"));
        expect(textOf(at("old"))).toBe("new");
        expect(disk.lstat(at("new"))).toBeUndefined();
        disk.makeFolder(at("a"));
        put(at("a/f"), "moved");
        disk.makeFolder(at("b"));
        disk.rename(at("a"), at("b"));
        expect(textOf(at("b/f"))).toBe("moved");
        expect(namesIn(given.folder).filter((each) => each.startsWith("dir"))).toEqual(["dir b"]);
      });

      test("rename refuses what the kernel refuses", () => {
        put(at("f"), "");
        disk.makeFolder(at("d"));
        disk.makeFolder(at("full"));
        disk.makeFolder(at("full/sub"));
        const tries: readonly (readonly [string, string, string])[] = [
          ["none", "f", "ENOENT"],
          ["f", "none/f", "ENOENT"],
          ["f", "d", "EISDIR"],
          ["d", "f", "ENOTDIR"],
          ["d", "full", "ENOTEMPTY"],
          ["full", "full/sub/x", "EINVAL"],
          ["full/sub", "full", "ENOTEMPTY"],
        ];
        for (const [from, to, errno] of tries) expect(errnoFrom(() => disk.rename(at(from), at(to)))).toBe(errno);
      });

      test("a second name is the same file, and renaming one onto the other does nothing", () => {
        put(at("a"), "same");
        disk.link(at("a"), at("b"));
        expect(disk.lstat(at("b"))).toEqual(disk.lstat(at("a")));
        expect(disk.lstat(at("a"))?.nlink).toBe(2);
        disk.rename(at("a"), at("b"));
        expect(disk.lstat(at("a"))?.nlink).toBe(2);
        expect(errnoFrom(() => disk.link(at("a"), at("b")))).toBe("EEXIST");
        disk.unlink(at("a"));
        expect(disk.lstat(at("b"))?.nlink).toBe(1);
        disk.makeFolder(at("d"));
        expect(errnoFrom(() => disk.link(at("d"), at("e")))).toBe("EPERM");
        expect(errnoFrom(() => disk.link(at("none"), at("e")))).toBe("ENOENT");
      });
    });

    describe("links", () => {
      beforeEach(() => {
        disk.makeFolder(at("d"));
        put(at("d/f"), "through");
        disk.symlink(Buffer.from("d"), at("toFolder"));
        disk.symlink(Buffer.from("d/f"), at("toFile"));
        disk.symlink(Buffer.from("nowhere"), at("toNothing"));
      });

      test("open does not follow a link in the last component", () => {
        expect(errnoFrom(() => disk.open(at("toFile"), "read"))).toBe("ELOOP");
        expect(errnoFrom(() => disk.open(at("toFile"), "append"))).toBe("ELOOP");
        expect(errnoFrom(() => disk.open(at("toFile"), "update"))).toBe("ELOOP");
        expect(errnoFrom(() => disk.open(at("toNothing"), "update"))).toBe("ELOOP");
        expect(errnoFrom(() => disk.open(at("toNothing"), "create"))).toBe("EEXIST");
        expect(["ENOTDIR", "ELOOP"]).toContain(errnoFrom(() => disk.open(at("toFolder"), "folder")));
        expect(["ENOTDIR", "ELOOP"]).toContain(errnoFrom(() => disk.syncFolder(at("toFolder"))));
        expect(disk.lstat(at("nowhere"))).toBeUndefined();
      });

      test("a link in the middle of a path is followed", () => {
        expect(textOf(at("toFolder/f"))).toBe("through");
        expect(disk.lstat(at("toFolder/f"))?.kind).toBe("file");
        expect(textOf(at("toFolder/../d/./f"))).toBe("through");
        disk.symlink(Buffer.from(at("d")), at("absolute"));
        expect(textOf(at("absolute/f"))).toBe("through");
        disk.symlink(Buffer.from("loop"), at("loop"));
        expect(errnoFrom(() => disk.open(at("loop/f"), "read"))).toBe("ELOOP");
      });

      test("readlink, rename and unlink act on the link itself", () => {
        expect(disk.readlink(at("toFile")).toString()).toBe("d/f");
        expect(disk.lstat(at("toFile"))).toMatchObject({ kind: "symlink", size: 3 });
        expect(errnoFrom(() => disk.readlink(at("d/f")))).toBe("EINVAL");
        expect(errnoFrom(() => disk.symlink(Buffer.from("x"), at("toFile")))).toBe("EEXIST");
        disk.rename(at("toFile"), at("moved"));
        disk.unlink(at("moved"));
        expect(errnoFrom(() => disk.removeFolder(at("toFolder")))).toBe("ENOTDIR");
        expect(errnoFrom(() => disk.unlink(at("toFolder/")))).toBe("ENOTDIR");
        expect(textOf(at("d/f"))).toBe("through");
      });

      test("realpath resolves all links", () => {
        expect(disk.realpath(at("toFolder/f"))).toBe(at("d/f"));
        expect(disk.realpath(at("toFile"))).toBe(at("d/f"));
        expect(errnoFrom(() => disk.realpath(at("toNothing")))).toBe("ENOENT");
      });
    });

    describe("folders as anchors", () => {
      test("a folder opens as a folder, and only a folder does", () => {
        put(at("f"), "");
        expect(errnoFrom(() => disk.open(at("f"), "folder"))).toBe("ENOTDIR");
        expect(errnoFrom(() => disk.open(given.folder, "update"))).toBe("EISDIR");
        const fd = disk.open(given.folder, "folder");
        expect(errnoFrom(() => disk.read(fd, Buffer.alloc(1), 0))).toBe("EISDIR");
        expect(errnoFrom(() => disk.write(fd, Buffer.alloc(1), 0))).toBe("EBADF");
        disk.sync(fd);
        disk.close(fd);
      });

      test("an open folder is reached by its descriptor, even after it was moved", (context) => {
        if (!given.anchors) return context.skip("there is no /proc/self/fd here");
        disk.makeFolder(at("d"));
        const fd = disk.open(at("d"), "folder");
        const anchor = `/proc/self/fd/${fd}`;
        put(`${anchor}/f`, "anchored");
        disk.rename(at("d"), at("moved"));
        disk.makeFolder(at("d"));
        expect(textOf(`${anchor}/f`)).toBe("anchored");
        expect(namesIn(anchor)).toEqual(["file f"]);
        expect([disk.realpath(anchor), disk.realpath(`${anchor}/f`)]).toEqual([at("moved"), at("moved/f")]);
        expect(disk.lstat(`${anchor}/f`)?.size).toBe(8);
        disk.rename(`${anchor}/f`, `${anchor}/g`);
        disk.syncFolder(anchor);
        const again = disk.open(anchor, "folder");
        expect(disk.fstat(again).ino).toBe(disk.fstat(fd).ino);
        disk.close(again);
        disk.makeFolder(`${anchor}/sub`);
        disk.removeFolder(`${anchor}/sub`);
        expect(namesIn(at("moved"))).toEqual(["file g"]);
        expect(disk.lstat(anchor)?.kind).toBe("symlink");
        disk.close(fd);
        expect(errnoFrom(() => disk.list(anchor))).toBe("ENOENT");
      });

      test("a removed folder is empty, and nothing can be made in it", (context) => {
        if (!given.anchors) return context.skip("there is no /proc/self/fd here");
        disk.makeFolder(at("d"));
        const fd = disk.open(at("d"), "folder");
        disk.removeFolder(at("d"));
        const anchor = `/proc/self/fd/${fd}`;
        expect(errnoFrom(() => disk.open(`${anchor}/f`, "create"))).toBe("ENOENT");
        expect(errnoFrom(() => disk.makeFolder(`${anchor}/d`))).toBe("ENOENT");
        expect(disk.lstat(`${anchor}/f`)).toBeUndefined();
        expect(disk.list(anchor)).toEqual([]);
        expect(disk.fstat(fd).nlink).toBe(0);
        disk.close(fd);
      });

      test("a descriptor of a file is not an anchor", (context) => {
        if (!given.anchors) return context.skip("there is no /proc/self/fd here");
        put(at("f"), "x");
        const fd = disk.open(at("f"), "read");
        expect(errnoFrom(() => disk.open(`/proc/self/fd/${fd}`, "read"))).toBe("ELOOP");
        expect(errnoFrom(() => disk.list(`/proc/self/fd/${fd}`))).toBe("ENOTDIR");
        expect(disk.realpath(`/proc/self/fd/${fd}`)).toBe(at("f"));
        expect(disk.lstat(`/proc/self/fd/${fd}/x`)).toBeUndefined();
        disk.close(fd);
      });
    });

    test("opening a FIFO does not wait, and shows that it is special", (context) => {
      if (given.fifo === undefined) return context.skip("this disk cannot have a FIFO");
      const fifo = at(given.fifo);
      expect(disk.lstat(fifo)?.kind).toBe("special");
      expect(namesIn(given.folder)).toContain(`special ${given.fifo}`);
      expect(errnoFrom(() => disk.open(fifo, "append"))).toBe("ENXIO");
      const fd = disk.open(fifo, "read");
      expect(disk.fstat(fd).kind).toBe("special");
      disk.close(fd);
    });

    test("unlinkAllBeside removes many names, and reports one that cannot be removed", async () => {
      const names = Array.from({ length: 20 }, (_, i) => `n${i}`);
      for (const name of ["a", "b", ...names]) put(at(name), name);
      disk.makeFolder(at("d"));
      await disk.unlinkAllBeside([at("a"), Buffer.from(at("b"))]);
      expect(namesIn(given.folder).filter((name) => /^file [ab]$/.test(name))).toEqual([]);
      await disk.unlinkAllBeside(names.map(at));
      expect(namesIn(given.folder).filter((name) => name.startsWith("file n"))).toEqual([]);
      put(at("c"), "c");
      await expect(disk.unlinkAllBeside([at("none"), at("c")])).rejects.toMatchObject({ code: "ENOENT" });
      await expect(disk.unlinkAllBeside([at("d")])).rejects.toMatchObject({
        code: expect.stringMatching(/EISDIR|EPERM/),
      });
      await disk.unlinkAllBeside([]);
    });

    test("a clone is another file with the same bytes; a disk that cannot clone leaves no file", () => {
      put(at("f"), "cloned", 0o640);
      put(at("taken"), "");
      expect(errnoFrom(() => disk.clone(at("none"), at("g")))).toBe("ENOENT");
      expect(errnoFrom(() => disk.clone(at("f"), at("taken")))).toBe("EEXIST");
      if (!disk.clone(at("f"), at("g"))) {
        expect(disk.lstat(at("g"))).toBeUndefined();
        return;
      }
      const fd = disk.open(at("g"), "update");
      write(fd, "C", 0);
      disk.close(fd);
      expect([textOf(at("f")), textOf(at("g")), disk.lstat(at("g"))?.mode]).toEqual(["cloned", "Cloned", 0o640]);
    });

    test("space is given in bytes; syncAllBeside has the same result as syncAll", async () => {
      const { freeBytes, totalBytes } = disk.space(given.folder);
      expect(totalBytes).toBeGreaterThan(1_000_000);
      expect(freeBytes).toBeLessThanOrEqual(totalBytes);
      expect(await disk.syncAllBeside(given.folder)).toBe(disk.syncAll(given.folder));
      expect(errnoFrom(() => disk.space(at("none")))).toBe("ENOENT");
    });

    test("syncFolderBeside opens the folder at once, and fails as syncFolder does", async (context) => {
      await expect(disk.syncFolderBeside(at("none"))).rejects.toMatchObject({ code: "ENOENT" });
      put(at("f"), "");
      await expect(disk.syncFolderBeside(at("f"))).rejects.toMatchObject({ code: "ENOTDIR" });
      if (!given.anchors) return context.skip("there is no /proc/self/fd here");
      disk.makeFolder(at("d"));
      const fd = disk.open(at("d"), "folder");
      const syncing = disk.syncFolderBeside(`/proc/self/fd/${fd}`);
      disk.close(fd);
      await expect(syncing).resolves.toBeUndefined();
    });

    test("writeFileDurably replaces a file as a whole, also if an earlier try has left a file", () => {
      put(at("f.new"), "left by a crash");
      writeFileDurably(disk, at("f"), Buffer.from("first"), { mode: 0o640 });
      writeFileDurably(disk, Buffer.from(at("f")), Buffer.from("second"), { mode: 0o640 });
      expect(textOf(at("f"))).toBe("second");
      expect(disk.lstat(at("f"))?.mode).toBe(0o640);
      expect(disk.lstat(at("f.new"))).toBeUndefined();
      expect(errnoFrom(() => writeFileDurably(disk, at("no/f"), Buffer.from("x")))).toBe("ENOENT");
    });
  });
}
