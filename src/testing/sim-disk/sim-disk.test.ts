import { describe, expect, it } from "vitest";
import { SimDisk } from "./sim-disk.ts";
import { SimulatedCrash } from "./sim-error.ts";
import type { SimOperation, SimVerdict } from "./sim-faults.ts";
import { writeFully } from "../../disk/write-fully.ts";
import { errnoOf } from "../../core/values/errors.ts";
import { diskSuite } from "../disk-suite.ts";

diskSuite("SimDisk", () => {
  const disk = SimDisk.fromTree({ "/home/try/fifo": { special: 0o600 } });
  return { disk, folder: "/home/try", fifo: "fifo", anchors: true };
});

diskSuite("SimDisk with short reads and writes, modes enforced and no clones", () => {
  const options = { mostBytes: 3, enforceModes: true, clones: false, syncsAll: true };
  const disk = SimDisk.fromTree({ "/home/try": { folder: 0o700 } }, options);
  return { disk, folder: "/home/try", anchors: true };
});

function put(disk: SimDisk, path: string, text: string): number {
  const fd = disk.open(path, "update");
  writeFully(disk, fd, Buffer.from(text), 0);
  return fd;
}

function errnoFrom(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    return errnoOf(error) ?? String(error);
  }
  return "none";
}

const textAfter = (disk: SimDisk, path: string): string | undefined => disk.crash("forget").content(path)?.toString();

describe("SimDisk: what a crash leaves", () => {
  it("a file survives when its bytes and its name were synced, each on its own", () => {
    const disk = SimDisk.fromTree({ "/d": { folder: 0o755 } });
    const fd = put(disk, "/d/f", "bytes");
    disk.sync(fd);
    expect(textAfter(disk, "/d/f")).toBeUndefined();
    disk.syncFolder("/d");
    expect(textAfter(disk, "/d/f")).toBe("bytes");
    put(disk, "/d/g", "bytes");
    disk.syncFolder("/d");
    expect(textAfter(disk, "/d/g")).toBe("");
  });

  it("synced bytes come back whole, whatever was written over them since", () => {
    const disk = SimDisk.fromTree({ "/f": "0123456789" });
    const fd = disk.open("/f", "update");
    writeFully(disk, fd, Buffer.from("abc"), 2);
    expect(textAfter(disk, "/f")).toBe("0123456789");
    disk.truncate(fd, 4);
    writeFully(disk, fd, Buffer.from("XYZ"), 4);
    expect([textAfter(disk, "/f"), disk.content("/f")?.toString()]).toEqual(["0123456789", "01abXYZ"]);
    disk.sync(fd);
    expect(textAfter(disk, "/f")).toBe("01abXYZ");
    disk.truncate(fd, 0);
    expect(textAfter(disk, "/f")).toBe("01abXYZ");
  });

  it("modes and times of a file become durable with its bytes", () => {
    const disk = SimDisk.fromTree({ "/f": { content: "x", mode: 0o644, mtimeMs: 1000 } });
    const fd = disk.open("/f", "read");
    disk.chmod(fd, 0o600);
    disk.setMtime(fd, 2_000_000_000n);
    expect(disk.crash("forget").lstat("/f")).toMatchObject({ mode: 0o644, mtimeNs: 1_000_000_000n });
    disk.sync(fd);
    expect(disk.crash("forget").lstat("/f")).toMatchObject({ mode: 0o600, mtimeNs: 2_000_000_000n });
  });

  it("a removal that was not synced is undone, also of a file that nothing else names", () => {
    const disk = SimDisk.fromTree({ "/d/f": "back", "/d/g": "replaced" });
    disk.unlink("/d/f");
    put(disk, "/d/new", "new");
    disk.rename("/d/new", "/d/g");
    disk.syncFolder("/");
    expect([textAfter(disk, "/d/f"), textAfter(disk, "/d/g")]).toEqual(["back", "replaced"]);
    disk.syncFolder("/d");
    expect(Object.keys(disk.crash("forget").dump("/d"))).toEqual(["g"]);
  });

  it("a rename between folders becomes durable as a whole, with the sync of either folder", () => {
    for (const folder of ["/a", "/b"]) {
      const disk = SimDisk.fromTree({ "/a/f": "moved", "/b": { folder: 0o755 } });
      disk.rename("/a/f", "/b/f");
      expect(Object.keys(disk.crash("forget").dump())).toEqual(["a", "a/f", "b"]);
      disk.syncFolder(folder);
      expect(Object.keys(disk.crash("forget").dump())).toEqual(["a", "b", "b/f"]);
    }
  });

  it("a synced rename takes along the creation it rests on, and does not bring the old name back", () => {
    const disk = SimDisk.fromTree({ "/a": { folder: 0o755 }, "/b": { folder: 0o755 } });
    disk.sync(put(disk, "/a/tmp", "x"));
    disk.rename("/a/tmp", "/b/f");
    disk.syncFolder("/b");
    for (const fate of ["forget", "keep", { seed: 3 }] as const) {
      expect(Object.keys(disk.crash(fate).dump())).toEqual(["a", "b", "b/f"]);
    }
  });

  it("names in a new folder are durable only once the folder's own name is", () => {
    const disk = new SimDisk();
    disk.makeFolder("/d");
    disk.sync(put(disk, "/d/f", "x"));
    disk.syncFolder("/d");
    expect(disk.crash("forget").dump()).toEqual({});
    disk.syncFolder("/");
    expect(textAfter(disk, "/d/f")).toBe("x");
  });

  it("descriptors and unnamed files are gone, and their space is free again", () => {
    const disk = SimDisk.fromTree({ "/f": "12345" }, { capacityBytes: 100 });
    const fd = disk.open("/f", "read");
    disk.unlink("/f");
    disk.syncFolder("/");
    expect(disk.space("/").freeBytes).toBe(95);
    const after = disk.crash("keep");
    expect([after.openDescriptors, after.space("/").freeBytes]).toEqual([0, 100]);
    expect(errnoFrom(() => after.fstat(fd))).toBe("EBADF");
    disk.close(fd);
    expect(disk.space("/").freeBytes).toBe(100);
  });

  it("a random crash tears writes, reorders names and contents, and is the same for the same seed", () => {
    const disk = SimDisk.fromTree({ "/d": { folder: 0o755 } });
    const fd = put(disk, "/d/f", "A".repeat(700));
    writeFully(disk, fd, Buffer.from("B".repeat(700)), 700);
    put(disk, "/d/g", "second");
    const seen = new Set<string>();
    let holes = 0;
    for (let seed = 0; seed < 300; seed++) {
      const after = disk.crash({ seed });
      expect(disk.crash({ seed }).dump()).toEqual(after.dump());
      expect(after.content("/d/g") !== undefined && after.content("/d/f") === undefined).toBe(false);
      const text = after.content("/d/f")?.toString("latin1");
      seen.add(text === undefined ? "missing" : `${text.length}`);
      if (text?.includes("\0") === true) holes++;
      expect(text ?? "").toMatch(/^[A\0]{0,700}[B\0]{0,700}$/);
    }
    expect(seen).toContain("missing");
    expect(seen).toContain("0");
    expect(seen.size).toBeGreaterThan(50);
    expect(holes).toBeGreaterThan(10);
  });

  it("a random crash never changes synced bytes", () => {
    const disk = SimDisk.fromTree({ "/f": "S".repeat(1000) });
    const fd = disk.open("/f", "append");
    writeFully(disk, fd, Buffer.from("N".repeat(1000)), null);
    for (let seed = 0; seed < 200; seed++) {
      expect(disk.crash({ seed }).content("/f")?.toString("latin1")).toMatch(/^S{1000}[N\0]*$/);
    }
  });

  it("the bytes of a failed sync are not made durable by the next sync", () => {
    const disk = SimDisk.fromTree({ "/f": "" });
    const fd = put(disk, "/f", "lost");
    disk.plan = ({ name }) => (name === "sync" ? { errno: "EIO" } : "go");
    expect(errnoFrom(() => disk.sync(fd))).toBe("EIO");
    disk.plan = undefined;
    disk.sync(fd);
    expect(textAfter(disk, "/f")).toBe("");
    writeFully(disk, fd, Buffer.from("later"), 4);
    disk.sync(fd);
    expect(textAfter(disk, "/f")).toBe("\0\0\0\0later");
    expect(disk.content("/f")?.toString()).toBe("lostlater");
  });

  it("the bytes of a failed sync do not come back over bytes that were synced in their place", () => {
    const disk = SimDisk.fromTree({ "/f": "" });
    const fd = put(disk, "/f", "first");
    disk.plan = ({ name }) => (name === "sync" ? { errno: "EIO" } : "go");
    expect(errnoFrom(() => disk.sync(fd))).toBe("EIO");
    disk.plan = undefined;
    disk.truncate(fd, 0);
    writeFully(disk, fd, Buffer.from("then"), 0);
    disk.sync(fd);
    for (const fate of ["forget", "keep", { seed: 1 }, { seed: 2 }] as const)
      expect(disk.crash(fate).content("/f")?.toString()).toBe("then");
  });

  it("syncAll, if the disk supports it, makes everything on its file system durable", () => {
    const disk = new SimDisk({ syncsAll: true, mounts: ["/other"] });
    disk.makeFolder("/d");
    put(disk, "/d/f", "x");
    put(disk, "/other/f", "elsewhere");
    expect(disk.syncAll("/")).toBe(true);
    expect([textAfter(disk, "/d/f"), textAfter(disk, "/other/f")]).toEqual(["x", undefined]);
    expect(new SimDisk().syncAll("/")).toBe(false);
  });
});

describe("SimDisk: limits of the machine", () => {
  it("a full disk takes what fits, then nothing, until something is removed", () => {
    const disk = SimDisk.fromTree({ "/old": "12345" }, { capacityBytes: 10 });
    const fd = disk.open("/f", "create");
    expect(disk.write(fd, Buffer.from("abcdefgh"), 0)).toBe(5);
    expect(errnoFrom(() => disk.write(fd, Buffer.from("fgh"), 5))).toBe("ENOSPC");
    expect(disk.write(fd, Buffer.from("ABCDE"), 0)).toBe(5);
    expect(disk.space("/")).toEqual({ freeBytes: 0, totalBytes: 10 });
    disk.unlink("/old");
    expect(disk.write(fd, Buffer.from("fgh"), 5)).toBe(3);
    disk.truncate(fd, 0);
    expect(disk.space("/").freeBytes).toBe(10);
  });

  it("permissions are enforced on request", () => {
    const tree = { "/shut/f": "x", "/secret": { content: "x", mode: 0o000 }, "/ro": { content: "x", mode: 0o444 } };
    const disk = SimDisk.fromTree(
      { ...tree, "/shut": { folder: 0o600 }, "/fixed": { folder: 0o500 } },
      { enforceModes: true },
    );
    expect(errnoFrom(() => disk.lstat("/shut/f"))).toBe("EACCES");
    expect(errnoFrom(() => disk.open("/secret", "read"))).toBe("EACCES");
    expect(errnoFrom(() => disk.open("/ro", "update"))).toBe("EACCES");
    expect(errnoFrom(() => disk.open("/fixed/f", "create"))).toBe("EACCES");
    expect(errnoFrom(() => disk.makeFolder("/fixed/d"))).toBe("EACCES");
    expect(errnoFrom(() => disk.rename("/ro", "/fixed/ro"))).toBe("EACCES");
    expect(disk.list("/shut").map((item) => item.kind)).toEqual(["file"]);
    disk.close(disk.open("/ro", "read"));
    expect(errnoFrom(() => SimDisk.fromTree(tree).open("/secret", "read"))).toBe("none");
  });

  it("descriptors are numbered from the lowest, and run out", () => {
    const disk = SimDisk.fromTree({ "/f": "" }, { mostDescriptors: 2 });
    const [first, second] = [disk.open("/f", "read"), disk.open("/f", "read")];
    expect(errnoFrom(() => disk.open("/f", "read"))).toBe("EMFILE");
    expect(errnoFrom(() => disk.open("/new", "create"))).toBe("EMFILE");
    expect(disk.lstat("/new")).toBeUndefined();
    disk.close(first);
    expect(disk.open("/f", "read")).toBe(first);
    expect(second).toBe(first + 1);
  });

  it("file systems are apart: no rename, link or clone from one to the other", () => {
    const disk = new SimDisk({ mounts: ["/mnt/usb"] });
    put(disk, "/f", "x");
    disk.makeFolder("/mnt/usb/d");
    expect(disk.lstat("/mnt/usb/d")?.dev).not.toBe(disk.lstat("/f")?.dev);
    expect(errnoFrom(() => disk.rename("/f", "/mnt/usb/f"))).toBe("EXDEV");
    expect(errnoFrom(() => disk.link("/f", "/mnt/usb/f"))).toBe("EXDEV");
    expect(disk.clone("/f", "/mnt/usb/f")).toBe(false);
  });

  it("times come from the given clock", () => {
    let now = 5_000n;
    const disk = new SimDisk({ clock: () => now });
    const fd = put(disk, "/f", "x");
    expect(disk.fstat(fd).mtimeNs).toBe(5_000n);
    now = 9_000n;
    disk.chmod(fd, 0o600);
    expect(disk.fstat(fd)).toMatchObject({ mtimeNs: 5_000n, ctimeNs: 9_000n });
  });

  it("at most forty links are followed", () => {
    const disk = SimDisk.fromTree({ "/end": { folder: 0o755 }, "/l0": { symlink: "end" } });
    for (let n = 1; n < 41; n++) disk.symlink(Buffer.from(`l${n - 1}`), `/l${n}`);
    expect(disk.lstat("/l39/.")?.kind).toBe("dir");
    expect(errnoFrom(() => disk.lstat("/l40/."))).toBe("ELOOP");
  });
});

describe("SimDisk: forks", () => {
  it("two forks neither see each other nor change the disk that they came from", () => {
    const disk = SimDisk.fromTree({ "/log": "base,", "/d/f": "x" });
    const fd = disk.open("/log", "append");
    writeFully(disk, fd, Buffer.from("mine,"), null);
    const forks = ["a", "b"].map((name) => {
      const fork = disk.fork();
      const log = fork.open("/log", "append");
      writeFully(fork, log, Buffer.from(name), null);
      fork.rename("/d/f", `/d/${name}`);
      return fork;
    });
    writeFully(disk, fd, Buffer.from("more"), null);
    expect(forks.map((fork) => fork.content("/log")?.toString())).toEqual(["base,mine,a", "base,mine,b"]);
    expect(forks.map((fork) => Object.keys(fork.dump("/d")))).toEqual([["a"], ["b"]]);
    expect(disk.content("/log")?.toString()).toBe("base,mine,more");
    expect(Object.keys(disk.dump("/d"))).toEqual(["f"]);
    expect(forks[0]?.crash("forget").content("/log")?.toString()).toBe("base,");
  });

  it("clones share bytes until one side writes", () => {
    const disk = SimDisk.fromTree({ "/a": "same" }, { capacityBytes: 6 });
    expect(disk.clone("/a", "/b")).toBe(true);
    expect(disk.space("/").freeBytes).toBe(2);
    put(disk, "/a", "S");
    writeFully(disk, disk.open("/b", "append"), Buffer.from("!"), null);
    expect([disk.content("/a")?.toString(), disk.content("/b")?.toString()]).toEqual(["Same", "same!"]);
    disk.syncFolder("/");
    expect(textAfter(disk, "/b")).toBe("");
  });

  it("a listing shows kinds, modes, links, sizes and hashes", () => {
    const disk = SimDisk.fromTree({ "/d/f": { content: "abc", mode: 0o600 }, "/l": { symlink: "d/f" } });
    disk.link("/d/f", "/g");
    const hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    const file = `file 600 2 3 ${hash}`;
    expect(disk.dump()).toEqual({ d: "dir 755", "d/f": file, g: file, l: "symlink -> d/f" });
    expect(disk.operations).toBe(1);
  });
});

describe("SimDisk: faults", () => {
  const everything = (disk: SimDisk): void => {
    disk.makeFolder("/d");
    const fd = disk.open("/d/f", "create");
    disk.write(fd, Buffer.from("12345678"), 0);
    disk.chmod(fd, 0o640);
    disk.setMtime(fd, 1_000_000_000n);
    disk.truncate(fd, 6);
    disk.sync(fd);
    disk.close(fd);
    disk.link("/d/f", "/d/g");
    disk.symlink(Buffer.from("g"), "/d/l");
    disk.rename("/d/g", "/d/h");
    disk.clone("/d/f", "/d/c");
    disk.unlink("/d/h");
    disk.syncFolder("/d");
    disk.makeFolder("/e");
    disk.removeFolder("/e");
  };
  const names =
    "makeFolder open write chmod setMtime truncate sync link symlink rename clone unlink syncFolder makeFolder removeFolder";

  function disturbed(
    at: number,
    verdict: SimVerdict,
    countsReads = false,
  ): { disk: SimDisk; seen: SimOperation[]; error: unknown } {
    const seen: SimOperation[] = [];
    const onOperation = (operation: SimOperation): SimVerdict => (
      seen.push(operation),
      operation.index === at ? verdict : "go"
    );
    const disk = new SimDisk({ onOperation, countsReads });
    try {
      everything(disk);
    } catch (error) {
      return { disk, seen, error };
    }
    return { disk, seen, error: undefined };
  }

  it("counts the operations that change the disk, and reports each of them", () => {
    const { disk, seen } = disturbed(-1, "go");
    expect(seen.map((each) => each.name).join(" ")).toBe(names);
    expect(seen[2]).toEqual({ index: 2, name: "write", path: "/d/f", reads: false });
    expect(disk.operations).toBe(seen.length);
    disk.close(disk.open("/d/f", "read"));
    disk.close(disk.open("/d/f", "update"));
    disk.list("/d");
    disk.lstat("/d");
    expect(disk.operations).toBe(seen.length);
  });

  it("counts reading operations on request", () => {
    const { disk, seen } = disturbed(-1, "go", true);
    const before = seen.length;
    const fd = disk.open("/d/f", "read");
    disk.read(fd, Buffer.alloc(1), 0);
    disk.list("/d");
    disk.lstat("/d");
    expect(seen.slice(before).map((each) => each.name)).toEqual(["open", "read", "list", "lstat"]);
    disk.plan = ({ name }) => (name === "list" ? { errno: "EMFILE" } : "go");
    expect(errnoFrom(() => disk.list("/d"))).toBe("EMFILE");
  });

  it("stops before or after any operation, and fails every later call", () => {
    let previous = "{}";
    for (let at = 0; at < names.split(" ").length; at++) {
      const before = disturbed(at, "stop-before");
      const after = disturbed(at, "stop-after");
      expect(before.error).toBeInstanceOf(SimulatedCrash);
      expect(errnoOf(before.error)).toBeUndefined();
      expect(before.disk.stopped).toBe(true);
      expect(JSON.stringify(before.disk.dump())).toBe(previous);
      previous = JSON.stringify(after.disk.dump());
      for (const call of [
        () => before.disk.lstat("/d"),
        () => before.disk.close(3),
        () => before.disk.realpath("/d"),
      ]) {
        expect(call).toThrow(SimulatedCrash);
      }
    }
  });

  it("tears a write, a sync and a clone in the middle", () => {
    expect(disturbed(2, "stop-torn").disk.content("/d/f")?.toString()).toBe("1234");
    expect(disturbed(10, "stop-torn").disk.content("/d/c")?.toString()).toBe("");
    const disk = SimDisk.fromTree({ "/f": "" });
    const fd = put(disk, "/f", "one");
    writeFully(disk, fd, Buffer.from("two"), 3);
    disk.plan = () => "stop-torn";
    expect(() => disk.sync(fd)).toThrow(SimulatedCrash);
    expect(textAfter(disk, "/f")).toBe("one");
  });

  it("fails once, or from then on, leaving half of a write", () => {
    const once = disturbed(2, { errno: "ENOSPC" });
    expect(errnoOf(once.error)).toBe("ENOSPC");
    expect(once.disk.content("/d/f")?.toString()).toBe("1234");
    once.disk.makeFolder("/more");
    const lasting = disturbed(2, { errno: "ENOSPC", lasting: true });
    expect(errnoFrom(() => lasting.disk.makeFolder("/more"))).toBe("ENOSPC");
    lasting.disk.unlink("/d/f");
  });
});
