import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Entry } from "../core/entry.ts";
import { sha256, sha256Pieces } from "../core/hash.ts";
import { outsidePath } from "../core/outside-record.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { SimDisk } from "../disk/sim-disk.ts";
import { sweepCrashes } from "../testing/crash-sweep.ts";
import { DiskOutsideFiles } from "./disk-outside-files.ts";
import type { OutsideLook } from "./outside-files.ts";
import type { ContentReader } from "./worktree.ts";

let base: string;
let outside: DiskOutsideFiles;

beforeEach(() => {
  base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "chronicle-outside-")));
  fs.mkdirSync(join(base, "store"));
  fs.mkdirSync(join(base, "ws"));
  outside = new DiskOutsideFiles({
    disk: new NodeDisk(),
    own: [join(base, "store")],
    roots: [join(base, "ws")],
    limits: { maxFileSize: 1_000, maxEntries: 20, maxBytes: 2_000 },
  });
});

afterEach(() => fs.rmSync(base, { recursive: true, force: true }));

function at(path: string): string {
  return join(base, path);
}

function look(path: string, deep = false): Promise<OutsideLook> {
  return outside.look(outsidePath(path), { deep, keep: async (pieces) => sha256Pieces(pieces) });
}

/** What was found, by the name beneath the test's folder. */
function shown({ found, omitted }: OutsideLook): Record<string, string> {
  const names = found.map(({ path, entry }) => [`/${path}`.replace(`${base}/`, ""), entry?.kind ?? "absent"]);
  const left = omitted.map((one) => [`/${one.path}`.replace(`${base}/`, ""), one.reason]);
  return Object.fromEntries([...names, ...left]) as Record<string, string>;
}

async function entryAt(path: string): Promise<Entry | undefined> {
  return (await look(at(path))).found[0]?.entry;
}

function text(content: string): ContentReader {
  return {
    size: content.length,
    async *pieces() {
      yield Buffer.from(content);
    },
  };
}

describe("looking", () => {
  test("a file, a link, a folder, nothing", async () => {
    fs.writeFileSync(at("a"), "alpha");
    fs.chmodSync(at("a"), 0o640);
    fs.symlinkSync("a", at("link"));
    fs.mkdirSync(at("dir"));
    expect(await entryAt("a")).toMatchObject({ kind: "file", mode: 0o640, size: 5, hash: sha256("alpha") });
    expect(await entryAt("link")).toMatchObject({ kind: "symlink", size: 1, hash: sha256("a") });
    expect(await entryAt("dir")).toMatchObject({ kind: "dir" });
    expect(shown(await look(at("none")))).toEqual({ none: "absent" });
    expect(shown(await look(at("none/deeper")))).toEqual({ "none/deeper": "absent" });
  });

  test("a folder with all that lies beneath it, but nothing of the workspace and of the store", async () => {
    fs.mkdirSync(at("dir/sub"), { recursive: true });
    fs.writeFileSync(at("dir/sub/f"), "f");
    fs.writeFileSync(at("ws/own"), "own");
    expect(Object.keys(shown(await look(at("dir"), true)))).toEqual(["dir", "dir/sub", "dir/sub/f"]);
    const all = Object.keys(shown(await look(base, true)));
    expect(all).toContain("dir/sub/f");
    expect(all.filter((path) => path.startsWith("ws") || path.startsWith("store"))).toEqual([]);
  });

  test("a link on the way is said, and nothing behind it is read", async () => {
    fs.mkdirSync(at("real"));
    fs.writeFileSync(at("real/secret"), "s");
    fs.symlinkSync("real", at("parent"));
    const found = await look(at("parent/secret"));
    expect(shown(found)).toEqual({ "parent/secret": "unreadable" });
    expect(found.omitted[0]?.detail).toContain("is a link");
  });

  test("what belongs to the system, or is special, is never opened", async () => {
    expect((await look("/proc/self/mem")).omitted).toMatchObject([{ reason: "special" }]);
    expect((await look("/dev/null")).omitted).toMatchObject([{ reason: "special" }]);
    expect((await look("/sys", true)).omitted).toMatchObject([{ reason: "special" }]);
    expect((await look("/", true)).omitted).toMatchObject([{ reason: "special" }]);
  });

  test("what is too large, or too much, is said", async () => {
    fs.writeFileSync(at("large"), Buffer.alloc(1_001));
    expect(shown(await look(at("large")))).toEqual({ large: "too-large" });
    fs.mkdirSync(at("many"));
    for (let i = 0; i < 3; i += 1) fs.writeFileSync(at(`many/${i}`), Buffer.alloc(900, i));
    expect(shown(await look(at("many"), true))).toMatchObject({ "many/0": "file", "many/2": "over-limit" });
    fs.rmSync(at("many"), { recursive: true });
    fs.mkdirSync(at("many"));
    for (let i = 10; i < 40; i += 1) fs.writeFileSync(at(`many/${i}`), "");
    const found = await look(at("many"), true);
    expect(found.found.length).toBe(20);
    expect(found.omitted).toMatchObject([{ reason: "over-limit" }]);
    let kept = 0;
    const keep = async (pieces: Iterable<Uint8Array>) => {
      kept += 1;
      return sha256Pieces(pieces);
    };
    const nothing = await outside.look(outsidePath(at("many")), { deep: true, whole: true, keep });
    expect([kept, nothing.found, nothing.omitted.length]).toEqual([0, [], 1]);
  });

  test("its own store is known", () => {
    expect(outside.isOwn(outsidePath(at("store/blobs/x")), false)).toBe(true);
    expect(outside.isOwn(outsidePath(at("stores")), true)).toBe(false);
    // A tool that takes the whole folder away would take the store along.
    expect(outside.isOwn(outsidePath(base), true)).toBe(true);
    expect(outside.isOwn(outsidePath(base), false)).toBe(false);
  });
});

describe("replacing", () => {
  test("a file by what it was, with its mode but never setuid", async () => {
    fs.writeFileSync(at("a"), "new");
    const before = await entryAt("a");
    const path = outsidePath(at("a"));
    const after: Entry = { path, kind: "file", mode: 0o4750, size: 3, mtimeMs: 0, hash: sha256("old") };
    expect(await outside.replace({ path, before, after, content: text("old") })).toBeUndefined();
    expect(fs.readFileSync(at("a"), "utf8")).toBe("old");
    expect(fs.lstatSync(at("a")).mode & 0o7777).toBe(0o750);
    expect(fs.readdirSync(base).filter((name) => name.startsWith(".chronicle"))).toEqual([]);
  });

  test("nothing by a file, folders and all; a file by nothing; a file by a link", async () => {
    const path = outsidePath(at("x/y/z"));
    const after: Entry = { path, kind: "file", mode: 0o600, size: 1, mtimeMs: 0, hash: sha256("z") };
    expect(await outside.replace({ path, before: undefined, after, content: text("z") })).toBeUndefined();
    expect(fs.readFileSync(at("x/y/z"), "utf8")).toBe("z");
    const before = await entryAt("x/y/z");
    const link: Entry = { path, kind: "symlink", mode: 0o777, size: 1, mtimeMs: 0, hash: sha256("t") };
    expect(await outside.replace({ path, before, after: link, content: text("t") })).toBeUndefined();
    expect(fs.readlinkSync(at("x/y/z"))).toBe("t");
    const now = await entryAt("x/y/z");
    expect(await outside.replace({ path, before: now, after: undefined, content: undefined })).toBeUndefined();
    expect(fs.readdirSync(at("x/y"))).toEqual([]);
  });

  test("what is not what it was a moment ago is left alone", async () => {
    fs.writeFileSync(at("a"), "seen");
    const before = await entryAt("a");
    fs.writeFileSync(at("a"), "edited since");
    const path = outsidePath(at("a"));
    const after: Entry = { path, kind: "file", mode: 0o600, size: 3, mtimeMs: 0, hash: sha256("old") };
    expect(await outside.replace({ path, before, after, content: text("old") })).toContain("not what it was");
    expect(fs.readFileSync(at("a"), "utf8")).toBe("edited since");
    expect(fs.readdirSync(base).sort()).toEqual(["a", "store", "ws"]);
  });

  test("a folder that became a link leads nowhere", async () => {
    fs.mkdirSync(at("dir"));
    fs.writeFileSync(at("dir/f"), "f");
    const before = await entryAt("dir/f");
    fs.mkdirSync(at("target"));
    fs.writeFileSync(at("target/f"), "f");
    fs.rmSync(at("dir"), { recursive: true });
    fs.symlinkSync("target", at("dir"));
    const path = outsidePath(at("dir/f"));
    const after: Entry = { path, kind: "file", mode: 0o600, size: 3, mtimeMs: 0, hash: sha256("old") };
    expect(await outside.replace({ path, before, after, content: text("old") })).toBeDefined();
    expect(await outside.replace({ path, before, after: undefined, content: undefined })).toBeDefined();
    expect(fs.readFileSync(at("target/f"), "utf8")).toBe("f");
  });

  test("a file that became a link is not written through", async () => {
    fs.writeFileSync(at("secret"), "secret");
    fs.writeFileSync(at("f"), "f");
    const before = await entryAt("f");
    fs.rmSync(at("f"));
    fs.symlinkSync("secret", at("f"));
    const path = outsidePath(at("f"));
    const after: Entry = { path, kind: "file", mode: 0o600, size: 3, mtimeMs: 0, hash: sha256("old") };
    expect(await outside.replace({ path, before, after, content: text("old") })).toContain("not what it was");
    expect(fs.readFileSync(at("secret"), "utf8")).toBe("secret");
  });

  test("a folder that holds something stays", async () => {
    fs.mkdirSync(at("dir"));
    fs.writeFileSync(at("dir/f"), "f");
    const path = outsidePath(at("dir"));
    const before = await entryAt("dir");
    expect(await outside.replace({ path, before, after: undefined, content: undefined })).toBe("ENOTEMPTY");
    expect(fs.readdirSync(at("dir"))).toEqual(["f"]);
  });
});

test("wherever a replacement is cut off, the file is old or new, and the next one brings it about", async () => {
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
      // What a step that was cut off left aside is dropped by the next one, if there is one.
      if (left === sha256(young)) expect(disk.list("/etc").map((item) => item.name.toString())).toEqual(["conf"]);
    },
  });
  expect(points).toBeGreaterThan(5);
});
