import { describe, expect, it } from "vitest";
import { SimDisk } from "../testing/sim-disk/sim-disk.ts";
import { createFileDurably, folderOf, readFully, uniqueMark, writeFileDurably, writeFully } from "./write-fully.ts";
import { sweepCrashes } from "../testing/crash-sweep.ts";

describe("writeFully and readFully", () => {
  it("continue where a short write or read stopped", () => {
    const disk = SimDisk.fromTree({ "/f": "0123456789" }, { mostBytes: 3 });
    const fd = disk.open("/f", "update");
    writeFully(disk, fd, Buffer.from("abcdefgh"), 1);
    const into = Buffer.alloc(20);
    expect(readFully(disk, fd, into, 0)).toBe(10);
    expect(into.toString("utf8", 0, 10)).toBe("0abcdefgh9");
    const end = disk.open("/f", "append");
    writeFully(disk, end, Buffer.from("the end"), null);
    expect(disk.content("/f")?.toString()).toBe("0abcdefgh9the end");
    expect(readFully(disk, fd, Buffer.alloc(4), null)).toBe(4);
    expect(readFully(disk, fd, into, null)).toBe(13);
  });

  it("fail on a full disk, and on a disk that takes no bytes instead of looping", () => {
    const disk = SimDisk.fromTree({ "/f": "" }, { capacityBytes: 5 });
    const fd = disk.open("/f", "update");
    expect(() => writeFully(disk, fd, Buffer.from("too much"), 0)).toThrow(/ENOSPC/);
    const idle = SimDisk.fromTree({ "/f": "" }, { mostBytes: 0 });
    idle.write = () => 0;
    expect(() => writeFully(idle, idle.open("/f", "update"), Buffer.from("x"), 0)).toThrow(/took no bytes/);
  });
});

describe("writeFileDurably", () => {
  it("leaves the old or the new content after a crash at any point, and the new one once it returned", async () => {
    const old = "old ".repeat(300);
    const fresh = "new ".repeat(400);
    const result = await sweepCrashes<string>({
      prepare: () => SimDisk.fromTree({ "/d/f": { content: old, mode: 0o640 } }),
      run: (disk, acknowledge) => {
        writeFileDurably(disk, "/d/f", Buffer.from(fresh), { mode: 0o600 });
        acknowledge(fresh);
      },
      check: (disk, { acknowledged }) => {
        const found = disk.content("/d/f")?.toString();
        if (acknowledged.length > 0) expect(found).toBe(fresh);
        expect([old, fresh]).toContain(found);
        expect(disk.lstat("/d/f")?.mode).toBe(found === old ? 0o640 : 0o600);
        writeFileDurably(disk, "/d/f", Buffer.from("after"));
        expect(disk.crash("forget").content("/d/f")?.toString()).toBe("after");
        expect(Object.keys(disk.dump("/d"))).toEqual(["f"]);
      },
      lasting: true,
    });
    expect(result.points).toBe(5);
  });

  it("puts each of two files into place whole, if two processes write them at the same time with marks", () => {
    const disk = SimDisk.fromTree({ "/f": "old" });
    const sync = disk.sync.bind(disk);
    disk.sync = (fd) => {
      disk.sync = sync;
      writeFileDurably(disk, "/f", Buffer.from("other"), { mark: uniqueMark() });
      expect(disk.content("/f")?.toString()).toBe("other");
      sync(fd);
    };
    writeFileDurably(disk, "/f", Buffer.from("own"), { mark: uniqueMark() });
    expect([disk.content("/f")?.toString(), Object.keys(disk.dump())]).toEqual(["own", ["f"]]);
  });

  it("leaves no open descriptor and no other file when it fails", () => {
    for (const name of ["write", "sync", "rename"]) {
      const disk = SimDisk.fromTree({ "/f": "old" });
      disk.plan = (operation) => (operation.name === name ? { errno: "EIO" } : "go");
      expect(() => writeFileDurably(disk, "/f", Buffer.from("new"))).toThrow(/EIO/);
      expect([disk.openDescriptors, Object.keys(disk.dump())]).toEqual([0, ["f"]]);
    }
  });
});

describe("createFileDurably", () => {
  it("keeps the first of two files that two processes make at the same moment", () => {
    const disk = SimDisk.fromTree({});
    const link = disk.link.bind(disk);
    let isOtherFirst: boolean | undefined;
    disk.link = (from, to) => {
      disk.link = link;
      isOtherFirst = createFileDurably(disk, "/key", Buffer.from("other"), { mark: ".2" });
      link(from, to);
    };
    expect(createFileDurably(disk, "/key", Buffer.from("own"), { mark: ".1" })).toBe(false);
    expect(isOtherFirst).toBe(true);
    const after = disk.crash("forget");
    expect([after.content("/key")?.toString(), Object.keys(disk.dump())]).toEqual(["other", ["key"]]);
  });

  it("leaves no file or the whole file after a crash at any point", async () => {
    await sweepCrashes<string>({
      prepare: () => SimDisk.fromTree({ "/d/other": "" }),
      run: (disk, acknowledge) => {
        expect(createFileDurably(disk, "/d/f", Buffer.from("whole"), { mark: ".1" })).toBe(true);
        acknowledge("whole");
      },
      check: (disk, { acknowledged }) => {
        expect([undefined, "whole"].slice(acknowledged.length)).toContain(disk.content("/d/f")?.toString());
      },
    });
  });
});

describe("folderOf", () => {
  it("gives the folder as text or as bytes, like the path", () => {
    expect(folderOf("/a/b")).toBe("/a");
    expect(folderOf("/a")).toBe("/");
    expect(folderOf(Buffer.from("/a/\xff", "latin1"))).toEqual(Buffer.from("/a"));
    expect(folderOf("/proc/self/fd/7/f")).toBe("/proc/self/fd/7");
  });
});
