import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Hash } from "../../core/values/hash.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { StableSink } from "./read-stable.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { ConfinedFs } from "./confined-fs.ts";
import { readStable, SMALL_BYTES } from "./read-stable.ts";

/** A disk that calls `onLook` after each stat of an open file, with the number of stats so far. */
class Restless extends SimDisk {
  looks = 0;
  onLook: ((look: number) => void) | undefined;
  override fstat(fd: number): FileStat {
    const stat = super.fstat(fd);
    if (stat.kind === "file") this.onLook?.((this.looks += 1));
    return stat;
  }
}

function diskWith(content: string | Buffer): Restless {
  const disk = new Restless();
  disk.makeFolder("/base", 0o755);
  rewrite(disk, content);
  return disk;
}

function rewrite(disk: SimDisk, content: string | Buffer): void {
  const fd = disk.open("/base/f", "update", 0o644);
  const bytes = Buffer.from(content);
  disk.truncate(fd, 0);
  for (let at = 0; at < bytes.length;) at += disk.write(fd, bytes.subarray(at), at);
  disk.close(fd);
}

class Kept implements StableSink {
  readonly contents: { hash: Hash; size: number }[] = [];
  small(content: Uint8Array): Hash {
    const hash = sha256(content);
    this.contents.push({ hash, size: content.length });
    return hash;
  }
  large(pieces: Iterable<Uint8Array>): { hash: Hash; size: number } {
    const hash = createHash("sha256");
    let size = 0;
    for (const piece of pieces) {
      hash.update(piece);
      size += piece.length;
    }
    const kept = { hash: hash.digest("hex") as Hash, size };
    this.contents.push(kept);
    return kept;
  }
}

function read(disk: SimDisk, sink: StableSink = new Kept(), name = "f"): ReturnType<typeof readStable> {
  using fs = new ConfinedFs(disk, "/base");
  const result = readStable(fs, parsePath(name), sink);
  fs.release();
  expect(disk.openDescriptors).toBe(0);
  return result;
}

test.each([
  ["nothing", ""],
  ["a little", "hello"],
  ["the most that is small", Buffer.alloc(SMALL_BYTES, "s")],
  ["more", Buffer.alloc(SMALL_BYTES + 1, "l")],
])("%s is read as it is", (_what, content) => {
  const result = read(diskWith(content));
  expect(result).toMatchObject({
    kind: "read",
    hash: sha256(content),
    size: Buffer.byteLength(content),
    unstable: false,
  });
});

test("a file that changes once is read again, and only the settled content is kept", () => {
  const disk = diskWith("first");
  disk.onLook = (look) => {
    if (look === 1) rewrite(disk, "second, longer");
  };
  const sink = new Kept();
  expect(read(disk, sink)).toMatchObject({ kind: "read", hash: sha256("second, longer"), unstable: false });
  expect(sink.contents).toEqual([{ hash: sha256("second, longer"), size: 14 }]);
});

test("a write of the same size is recognised by its times", () => {
  const disk = diskWith("aaaa");
  disk.onLook = (look) => {
    if (look === 1) rewrite(disk, "bbbb");
  };
  expect(read(disk)).toMatchObject({ kind: "read", hash: sha256("bbbb"), unstable: false });
});

test("a file that never settles is unstable, and the result has the hash and size of the content that was kept", () => {
  for (const size of [10, SMALL_BYTES + 10]) {
    const disk = diskWith(Buffer.alloc(size, "x"));
    disk.onLook = (look) => rewrite(disk, Buffer.alloc(size + look, "y"));
    const sink = new Kept();
    const result = read(disk, sink);
    expect(result).toMatchObject({ kind: "read", unstable: true });
    expect(disk.looks).toBeLessThanOrEqual(6);
    if (result.kind === "read") expect(sink.contents.at(-1)).toEqual({ hash: result.hash, size: result.size });
  }
});

test("a folder or link is reported as `other`, and a missing path as `gone`", () => {
  const disk = diskWith("x");
  disk.makeFolder("/base/dir", 0o755);
  disk.symlink(Buffer.from("f"), "/base/link");
  expect(read(disk, new Kept(), "dir")).toMatchObject({ kind: "other", stat: { kind: "dir" } });
  expect(read(disk, new Kept(), "link")).toMatchObject({ kind: "other", stat: { kind: "symlink" } });
  expect(read(disk, new Kept(), "missing")).toEqual({ kind: "gone" });
  expect(read(disk, new Kept(), "f/beneath")).toEqual({ kind: "gone" });
  expect(read(disk, new Kept(), "link/beneath")).toEqual({ kind: "gone" });
});

test("a file that may not be read is `unreadable`, and an error of the sink is thrown", () => {
  const disk = SimDisk.fromTree({ "/base/f": { content: "x", mode: 0o000 } }, { enforceModes: true, uid: 1000 });
  expect(read(disk)).toEqual({ kind: "unreadable", detail: "EACCES" });
  const full: StableSink = {
    small: () => {
      throw Object.assign(new Error("full"), { code: "ENOSPC" });
    },
    large: () => ({ hash: sha256(""), size: 0 }),
  };
  expect(() => read(diskWith("x"), full)).toThrow("full");
});
