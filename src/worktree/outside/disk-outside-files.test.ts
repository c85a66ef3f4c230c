import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Entry } from "../../core/values/entry.ts";
import { sha256, sha256Pieces } from "../../core/values/hash.ts";
import { outsidePath } from "../../core/records/outside-record.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { sweepCrashes } from "../../testing/crash-sweep.ts";
import { outsideFilesSuite, type OutsideHarness } from "../../testing/outside-files-suite.ts";
import { DiskOutsideFiles } from "./disk-outside-files.ts";
import type { ContentReader } from "../worktree.ts";

outsideFilesSuite("DiskOutsideFiles", (limits): OutsideHarness => {
  const base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "chronicle-outside-")));
  const [store, workspace] = [join(base, "store"), join(base, "ws")];
  for (const folder of [store, workspace]) fs.mkdirSync(folder);
  return {
    base,
    outside: new DiskOutsideFiles({ disk: new NodeDisk(), own: [store], roots: [workspace], limits }),
    edit: {
      write: (path, content) => fs.writeFileSync(path, content),
      makeFolder: (path) => void fs.mkdirSync(path, { recursive: true }),
      symlink: (target, path) => fs.symlinkSync(target, path),
      chmod: (path, mode) => fs.chmodSync(path, mode),
      remove: (path) => fs.rmSync(path, { recursive: true }),
      read: (path) => (fs.lstatSync(path).isSymbolicLink() ? fs.readlinkSync(path) : fs.readFileSync(path, "utf8")),
      modeOf: (path) => fs.lstatSync(path).mode & 0o7777,
      list: (path) => fs.readdirSync(path).sort(),
    },
    dispose: () => fs.rmSync(base, { recursive: true, force: true }),
  };
});

function text(content: string): ContentReader {
  return {
    size: content.length,
    async *pieces() {
      yield Buffer.from(content);
    },
  };
}

test("wherever a replacement is cut off, the file is old or new, and the next replacement succeeds", async () => {
  const [old, young] = ["what it was", "what it became"];
  const path = outsidePath("/etc/conf");
  const after: Entry = { path, kind: "file", mode: 0o640, size: old.length, mtimeMs: 0, hash: sha256(old) };
  const open = (disk: SimDisk) => new DiskOutsideFiles({ disk, own: [], roots: [] });
  const replace = async (disk: SimDisk): Promise<string | undefined> => {
    const { found } = await open(disk).look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
    return open(disk).replace({ path, before: found[0]?.entry, after, content: text(old) });
  };
  const { points } = await sweepCrashes({
    prepare: () => SimDisk.fromTree({ "/etc/conf": young }),
    run: async (disk, acknowledge) => {
      if ((await replace(disk)) === undefined) acknowledge("done");
    },
    check: async (disk, { acknowledged }) => {
      const hashOf = async () => {
        const look = await open(disk).look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
        return look.found[0]?.entry?.hash;
      };
      const left = await hashOf();
      if (acknowledged.length > 0) expect(left).toBe(sha256(old));
      else expect([sha256(old), sha256(young)]).toContain(left);
      expect(await replace(disk)).toBeUndefined();
      expect(await hashOf()).toBe(sha256(old));
      // If the second call still had to replace the file, it has also removed what the first call left behind.
      if (left === sha256(young)) expect(disk.list("/etc").map((item) => item.name.toString())).toEqual(["conf"]);
    },
  });
  expect(points).toBeGreaterThan(5);
});

/** A temporary folder with a file `conf`, which tests replace. */
class Place implements Disposable {
  readonly base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "chronicle-outside-")));
  readonly conf = join(this.base, "conf");
  readonly lost: unknown[] = [];

  [Symbol.dispose](): void {
    fs.rmSync(this.base, { recursive: true, force: true });
  }

  /** Replaces the present file by one with this content. */
  async replace(content: ContentReader, disk = new NodeDisk()): Promise<string | undefined> {
    const outside = new DiskOutsideFiles({ disk, own: [], roots: [] });
    const path = outsidePath(this.conf);
    const { found } = await outside.look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
    const hash = sha256("restored");
    const after: Entry = { path, kind: "file", mode: 0o660, size: content.size, mtimeMs: 0, hash };
    const onLostOwner = (owner: unknown): void => void this.lost.push(owner);
    return outside.replace({ path, before: found[0]?.entry, after, content, onLostOwner });
  }
}

/** Returns a disk whose `method` fails with an errno if one of its arguments ends with `end`. */
function failing(method: "link" | "rename" | "makeFolder" | "removeFolder", end: string, code: string): NodeDisk {
  const disk = new NodeDisk();
  const own = disk[method].bind(disk) as (...args: unknown[]) => void;
  return Object.assign(disk, {
    [method]: (...args: unknown[]) => {
      if (args.some((one) => String(one).endsWith(end))) throw Object.assign(new Error(code), { code });
      own(...args);
    },
  });
}

/** A content that cannot be read: its reader throws `ENOSPC`. */
const BROKEN: ContentReader = {
  size: 8,
  // oxlint-disable-next-line require-yield
  async *pieces() {
    throw Object.assign(new Error("full"), { code: "ENOSPC" });
  },
};

test("a failed replacement leaves no files of its own beside the old file", async () => {
  using place = new Place();
  fs.mkdirSync(join(place.conf, "full"), { recursive: true });
  expect(await place.replace(text("restored"))).toBe("ENOTEMPTY");
  expect(fs.readdirSync(place.base)).toEqual(["conf"]);
  fs.rmSync(place.conf, { recursive: true });
  fs.writeFileSync(place.conf, "now");
  expect(await place.replace(text("restored"), failing("rename", "/conf", "EACCES"))).toBe("EACCES");
  expect(await place.replace(BROKEN)).toBe("ENOSPC");
  expect([fs.readdirSync(place.base), fs.readFileSync(place.conf, "utf8")]).toEqual([["conf"], "now"]);
});

test.each([
  ["its content cannot be read", undefined, "ENOSPC"],
  ["a folder cannot be made", failing("makeFolder", "/deep", "EACCES"), "EACCES"],
  ["it cannot be put there", failing("link", "/file", "EIO"), "EIO"],
])("no new folders are left if a file is not put there because %s", async (_, disk = new NodeDisk(), errno = "") => {
  using place = new Place();
  const outside = new DiskOutsideFiles({ disk, own: [], roots: [] });
  const path = outsidePath(join(place.conf, "deep/file"));
  const after: Entry = { path, kind: "file", mode: 0o600, size: 8, mtimeMs: 0, hash: sha256("restored") };
  const content = errno === "ENOSPC" ? BROKEN : text("restored");
  expect(await outside.replace({ path, before: undefined, after, content })).toBe(errno);
  expect(fs.readdirSync(place.base)).toEqual([]);
});

test.each([true, false])(
  "a file is restored on a disk without hard links (it existed before: %s)",
  async (wasThere) => {
    using place = new Place();
    if (wasThere) fs.writeFileSync(place.conf, "now");
    expect(await place.replace(text("restored"), failing("link", "", "EPERM"))).toBeUndefined();
    expect([fs.readdirSync(place.base), fs.readFileSync(place.conf, "utf8")]).toEqual([["conf"], "restored"]);
  },
);

test.each(["a folder", "a file"])(
  "on a disk without hard links, the file's content is kept if %s is put in its place meanwhile, and a file put there stays",
  async (what) => {
    using place = new Place();
    fs.writeFileSync(place.conf, "now");
    const disk = failing("link", "", "EPERM");
    const own = disk.rename.bind(disk);
    let moves = 0;
    disk.rename = (from, to) => {
      own(from, to);
      moves += 1;
      if (moves > 1) return;
      if (what === "a folder") fs.mkdirSync(place.conf);
      else fs.writeFileSync(place.conf, "of somebody else");
    };
    await place.replace(text("restored"), disk);
    const texts = fs.readdirSync(place.base).map((name) => {
      const path = join(place.base, name);
      return fs.statSync(path).isFile() ? fs.readFileSync(path, "utf8") : "";
    });
    expect(texts).toContain("now");
    if (what === "a file") expect(fs.readFileSync(place.conf, "utf8")).toBe("of somebody else");
  },
);

test.runIf(process.getuid?.() === 0)(
  "a replaced file keeps its owner and group, and a new one has its folder's",
  async () => {
    using place = new Place();
    fs.writeFileSync(place.conf, "now");
    fs.chownSync(place.conf, 1234, 4321);
    expect(await place.replace(text("restored"))).toBeUndefined();
    const { uid, gid, mode } = fs.statSync(place.conf);
    expect([uid, gid, mode & 0o777, fs.readFileSync(place.conf, "utf8")]).toEqual([1234, 4321, 0o660, "restored"]);
    // A file that did not exist before gets the owner and group of its folder.
    fs.rmSync(place.conf);
    fs.chownSync(place.base, 1234, 4321);
    expect(await place.replace(text("restored"))).toBeUndefined();
    expect([fs.statSync(place.conf).uid, fs.statSync(place.conf).gid]).toEqual([1234, 4321]);
    expect(place.lost).toEqual([]);
  },
);

test("an owner that cannot be given back is reported", async () => {
  using place = new Place();
  fs.writeFileSync(place.conf, "now");
  fs.chownSync(place.conf, process.getuid?.() ?? 0, process.getgid?.() ?? 0);
  const disk = Object.assign(new NodeDisk(), { give: () => false });
  const own = disk.fstat.bind(disk);
  Object.assign(disk, { fstat: (fd: number) => ({ ...own(fd), uid: 7 }) });
  expect(await place.replace(text("restored"), disk)).toBeUndefined();
  expect(place.lost).toHaveLength(1);
});

test("leftovers of cut-off replacements are removed once the file is as wanted and their bytes are stored", async () => {
  using place = new Place();
  fs.writeFileSync(place.conf, "restored");
  const path = outsidePath(place.conf);
  const left = join(place.base, `.chronicle-${sha256(path).slice(0, 16)}.old`);
  // The second cut-off attempt took another name, because the first name was taken.
  const later = `${left}.2`;
  const entry: Entry = { path, kind: "file", mode: 0o644, size: 8, mtimeMs: 0, hash: sha256("restored") };
  const outside = new DiskOutsideFiles({ disk: new NodeDisk(), own: [], roots: [] });
  for (const [kept, names] of [
    [false, 3],
    [true, 1],
  ] as const) {
    for (const one of [left, later]) fs.writeFileSync(one, "before");
    const isKept = async (): Promise<boolean> => kept;
    expect(await outside.replace({ path, before: entry, after: entry, content: undefined, isKept })).toBeUndefined();
    expect(fs.readdirSync(place.base)).toHaveLength(names);
  }
});

test.each(["file", "dir", undefined] as const)(
  "bytes that somebody writes at the last moment are kept aside when a file gives way to: %s",
  async (kind) => {
    using place = new Place();
    fs.writeFileSync(place.conf, "now");
    const disk = new NodeDisk();
    let isWritten = false;
    for (const method of ["rename", "unlink"] as const) {
      const own = disk[method].bind(disk) as (...args: unknown[]) => void;
      Object.assign(disk, {
        [method]: (...args: unknown[]) => {
          if (!isWritten && args.some((one) => String(one).endsWith("/conf"))) {
            fs.writeFileSync(place.conf, "at the last moment");
            isWritten = true;
          }
          own(...args);
        },
      });
    }
    const outside = new DiskOutsideFiles({ disk, own: [], roots: [] });
    const path = outsidePath(place.conf);
    const { found } = await outside.look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
    const size = kind === "file" ? 8 : 0;
    const hash = kind === "file" ? sha256("restored") : undefined;
    const after: Entry | undefined = kind && { path, kind, mode: 0o755, size, mtimeMs: 0, hash };
    const told = await outside.replace({ path, before: found[0]?.entry, after, content: text("restored") });
    const aside = `.chronicle-${sha256(path).slice(0, 16)}.old`;
    expect(told).toContain(aside);
    expect(fs.readFileSync(join(place.base, aside), "utf8")).toBe("at the last moment");
    expect(fs.readdirSync(place.base)).toEqual(kind === undefined ? [aside] : [aside, "conf"]);
  },
);

test("a file is back under its name if no folder can be made in its place", async () => {
  using place = new Place();
  fs.writeFileSync(place.conf, "now");
  const disk = failing("makeFolder", "/conf", "ENOSPC");
  const outside = new DiskOutsideFiles({ disk, own: [], roots: [] });
  const path = outsidePath(place.conf);
  const { found } = await outside.look(path, { deep: false, keep: async (pieces) => sha256Pieces(pieces) });
  const after: Entry = { path, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined };
  expect(await outside.replace({ path, before: found[0]?.entry, after, content: undefined })).toBe("ENOSPC");
  expect([fs.readdirSync(place.base), fs.readFileSync(place.conf, "utf8")]).toEqual([["conf"], "now"]);
});

test("an empty folder is back with its mode and owner if no file can be put in its place", async () => {
  using place = new Place();
  fs.mkdirSync(place.conf);
  fs.chmodSync(place.conf, 0o2750);
  if (process.getuid?.() === 0) fs.chownSync(place.conf, 1234, 4321);
  const was = fs.statSync(place.conf);
  expect(await place.replace(text("restored"), failing("link", "/conf", "ENOSPC"))).toBe("ENOSPC");
  expect(fs.readdirSync(place.base)).toEqual(["conf"]);
  const { mode, uid, gid } = fs.statSync(place.conf);
  expect({ mode, uid, gid }).toEqual({ mode: was.mode, uid: was.uid, gid: was.gid });
  expect(await place.replace(text("restored"))).toBeUndefined();
  expect(fs.readFileSync(place.conf, "utf8")).toBe("restored");
});
