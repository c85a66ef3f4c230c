import { expect, test } from "vitest";
import type { Change, Entry } from "../../src/core/values/entry.ts";
import type { Hash } from "../../src/core/values/hash.ts";
import type { SimTree } from "../../src/testing/sim-disk/sim-tree.ts";
import type { SimDiskOptions } from "../../src/testing/sim-disk/sim-machine.ts";
import type { ContentReader, ScanReport } from "../../src/worktree/worktree.ts";
import { DEFAULT_FILTER } from "../../src/core/filter/filter.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { parsePath } from "../../src/core/values/path.ts";
import { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { sweepCrashes } from "../../src/testing/crash-sweep.ts";
import { DiskWorktree } from "../../src/worktree/disk/disk-worktree.ts";

const USER: SimDiskOptions = { enforceModes: true, uid: 1000 };

function worktreeOn(disk: SimDisk, staging?: string): DiskWorktree {
  const limits = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };
  return new DiskWorktree({
    disk,
    roots: [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits }],
    cacheFile: "/store/stat.cache",
    staging,
    storeFolders: ["/store"],
    clock: () => 4_000_000_000_000,
  });
}

async function scan(worktree: DiskWorktree): Promise<ScanReport & { changed: string[] }> {
  const changed: string[] = [];
  const report = await worktree.scan({}, (batch) => changed.push(...batch.map((one) => one.path)));
  return { ...report, changed: changed.sort() };
}

function plant(tree: SimTree, options: SimDiskOptions = USER): SimDisk {
  return SimDisk.fromTree({ "/store": { folder: 0o700 }, "/base": { folder: 0o755 }, ...tree }, options);
}

function file(path: string, content: string, mode = 0o644): Entry {
  return { path: parsePath(path), kind: "file", mode, size: content.length, mtimeMs: 0, hash: sha256(content) };
}

function folder(path: string, mode = 0o755): Entry {
  return { path: parsePath(path), kind: "dir", mode, size: 0, mtimeMs: 0, hash: undefined };
}

async function* contents(hashes: Iterable<Hash>): AsyncGenerator<readonly [Hash, ContentReader | undefined]> {
  const all = new Map(["new", "old", "fresh"].map((text) => [sha256(text), Buffer.from(text)]));
  for (const hash of hashes) {
    const bytes = all.get(hash) ?? Buffer.alloc(0);
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes;
    };
    yield [hash, { size: bytes.length, pieces }] as const;
  }
}

function apply(worktree: DiskWorktree, changes: Change[]): ReturnType<DiskWorktree["apply"]> {
  return worktree.apply({ token: "TOKEN", changes, contents, onBlocked: "fail" });
}

test("a folder that may not be read is listed, and what is remembered of files in it stays", async () => {
  const disk = plant({ "/base/open": "o", "/base/closed/inner": "i", "/base/closed": { folder: 0o755 } });
  const worktree = worktreeOn(disk);
  await scan(worktree);
  const inner = await worktree.inspect(parsePath("closed/inner"));
  const stat = disk.lstat("/base/closed/inner");
  const closed = disk.lstat("/base/closed");
  if (inner === undefined || stat === undefined || closed === undefined) throw new Error("not there");
  worktree.remember([
    { entry: inner, stat },
    { entry: folder("closed"), stat: closed },
  ]);
  const fd = disk.open("/base/closed", "folder");
  disk.chmod(fd, 0o000);
  disk.close(fd);
  const report = await scan(worktree);
  expect(report.gone).toEqual([]);
  expect(report.omitted).toContainEqual({ path: "closed", reason: "unreadable", detail: "EACCES" });
  expect(worktree.recall(parsePath("closed/inner"))).toBeDefined();
});

test.each([0o000, 0o200, 0o400, 0o600])(
  "a new folder that nobody may look into, with mode %o, does not keep other paths from being recorded",
  async (mode) => {
    const disk = plant({ "/base/open": "o", "/base/closed/inner": "i", "/base/closed": { folder: mode } });
    const report = await scan(worktreeOn(disk));
    expect(report.changed).toEqual(["closed", "open"]);
    expect(report.omitted.length).toBeGreaterThan(0);
    expect(report.omitted.every(({ path, reason }) => path.startsWith("closed") && reason === "unreadable")).toBe(true);
  },
);

test("nothing is applied in a folder that somebody has put where the record has a link", async () => {
  const disk = plant({ "/base/d/deep/f": "new", "/base/d/other": "o" });
  const link: Entry = { path: parsePath("d"), kind: "symlink", mode: 0o777, size: 4, mtimeMs: 0, hash: sha256("away") };
  const report = await worktreeOn(disk).apply({
    token: "TOKEN",
    changes: [
      { path: parsePath("d"), before: link, after: folder("d") },
      { path: parsePath("d/deep"), before: undefined, after: folder("d/deep") },
      { path: parsePath("d/deep/f"), before: undefined, after: file("d/deep/f", "new") },
      { path: parsePath("d/fresh"), before: undefined, after: file("d/fresh", "fresh") },
    ],
    contents,
    onBlocked: "skip",
  });
  expect(report.applied).toEqual([]);
  expect(report.blocked.map(({ path }) => path)).toEqual(["d", "d/deep", "d/deep/f", "d/fresh"]);
  expect(disk.list("/base/d").map(({ name }) => name.toString())).toEqual(["deep", "other"]);
});

test("a folder that is missing for a moment does not count as gone while a file in it stays", async () => {
  const disk = plant({ "/base/d/deep/f": "edited" });
  const lstat = disk.lstat.bind(disk);
  let isAway = true;
  disk.lstat = (path) => {
    if (!isAway || !path.toString().endsWith("/deep")) return lstat(path);
    isAway = false;
    return undefined;
  };
  const report = await worktreeOn(disk).apply({
    token: "TOKEN",
    changes: [
      { path: parsePath("d/deep"), before: folder("d/deep"), after: undefined },
      { path: parsePath("d/deep/f"), before: file("d/deep/f", "old"), after: undefined },
    ],
    contents,
    onBlocked: "skip",
  });
  expect([isAway, report.applied]).toEqual([false, []]);
  expect(report.blocked.map(({ path }) => path)).toEqual(["d/deep", "d/deep/f"]);
});

test("a deletion that was rolled back does not count as done because its folder is missing for a moment", async () => {
  const disk = plant({ "/base/a": "old", "/base/d/deep/f": "old" });
  const { lstat, rename } = { lstat: disk.lstat.bind(disk), rename: disk.rename.bind(disk) };
  const seen = { refused: false, away: false };
  disk.rename = (from, to) => {
    if (!from.toString().endsWith("/a")) return rename(from, to);
    seen.refused = true;
    throw Object.assign(new Error("not permitted"), { code: "EACCES" });
  };
  disk.lstat = (path) => {
    if (!seen.refused || seen.away || !path.toString().endsWith("/deep")) return lstat(path);
    seen.away = true;
    return undefined;
  };
  const report = await worktreeOn(disk).apply({
    token: "TOKEN",
    changes: [
      { path: parsePath("a"), before: file("a", "old"), after: undefined },
      { path: parsePath("d/deep"), before: folder("d/deep"), after: undefined },
      { path: parsePath("d/deep/f"), before: file("d/deep/f", "old"), after: undefined },
    ],
    contents,
    onBlocked: "fail",
  });
  expect([seen, report.applied]).toEqual([{ refused: true, away: true }, []]);
  expect(report.blocked.map(({ path }) => path)).toEqual(["a"]);
  expect(disk.list("/base/d/deep").map(({ name }) => name.toString())).toEqual(["f"]);
});

test("folders on other devices are not entered", async () => {
  const disk = plant({ "/base/here": "h", "/base/mounted/there": "t" }, { mounts: ["/base/mounted"] });
  const report = await scan(worktreeOn(disk));
  expect(report.changed).toEqual(["here"]);
  expect(report.omitted).toMatchObject([{ path: "mounted", reason: "other-device" }]);
});

test("with the store on another device, staging is in the root, and is removed afterwards", async () => {
  const disk = plant({ "/base/a": "old", "/store/staging": { folder: 0o700 } }, { mounts: ["/store"] });
  const worktree = worktreeOn(disk, "/store/staging");
  const report = await apply(worktree, [
    { path: parsePath("a"), before: file("a", "old"), after: file("a", "new") },
    { path: parsePath("b"), before: undefined, after: folder("b") },
    { path: parsePath("b/c"), before: undefined, after: file("b/c", "fresh") },
  ]);
  expect(report).toMatchObject({ blocked: [], applied: ["a", "b", "b/c"] });
  expect(disk.list("/base").map((one) => one.name.toString())).toEqual(["a", "b"]);
});

test.each(["/store/staging", undefined])(
  "a read-only folder is opened for the change and closed again (%s)",
  async (staging) => {
    const disk = plant({
      "/base/ro": { folder: 0o555 },
      "/base/ro/a": { content: "old", mode: 0o444 },
      "/base/ro/b": "old",
    });
    const report = await apply(worktreeOn(disk, staging), [
      { path: parsePath("ro/a"), before: file("ro/a", "old", 0o444), after: file("ro/a", "new", 0o444) },
      { path: parsePath("ro/b"), before: file("ro/b", "old"), after: undefined },
      { path: parsePath("ro/new"), before: undefined, after: folder("ro/new", 0o500) },
      { path: parsePath("ro/new/f"), before: undefined, after: file("ro/new/f", "fresh", 0o400) },
    ]);
    expect(report.blocked).toEqual([]);
    expect(disk.lstat("/base/ro")?.mode).toBe(0o555);
    expect(disk.lstat("/base/ro/new")?.mode).toBe(0o500);
    expect(disk.lstat("/base/ro/b")).toBeUndefined();
    expect(disk.list("/base").map((one) => one.name.toString())).toEqual(["ro"]);
  },
);

test.each([0o000, 0o300, 0o500])("a folder gets a closed mode (%o) after the changes in it", async (mode) => {
  const disk = plant({ "/base/closed": { folder: 0o755 }, "/base/closed/x": "old", "/base/closed/stays": "old" });
  const report = await apply(worktreeOn(disk), [
    { path: parsePath("closed"), before: folder("closed"), after: folder("closed", mode) },
    { path: parsePath("closed/x"), before: file("closed/x", "old"), after: undefined },
    { path: parsePath("closed/made"), before: undefined, after: file("closed/made", "new") },
  ]);
  expect(report).toMatchObject({ blocked: [], applied: ["closed", "closed/made", "closed/x"] });
  expect(disk.lstat("/base/closed")?.mode).toBe(mode);
});

test("nothing at all is changed if one file is in a folder that belongs to another user", async () => {
  const disk = plant({ "/base/mine": "old", "/base/theirs/x": "old" }, { enforceModes: true, uid: 1000 });
  const theirs = { ...file("theirs/x", "old") };
  const before = disk.lstat("/base/mine")?.ino;
  const fd = disk.open("/base/theirs", "folder");
  disk.chmod(fd, 0o055);
  disk.close(fd);
  const report = await apply(worktreeOn(disk, "/store/staging"), [
    { path: parsePath("mine"), before: file("mine", "old"), after: file("mine", "new") },
    { path: parsePath("theirs/x"), before: theirs, after: file("theirs/x", "new") },
  ]);
  expect(report).toMatchObject({ applied: [], blocked: [{ path: "theirs/x", reason: "not-permitted" }] });
  expect(disk.lstat("/base/mine")?.ino).toBe(before);
});

test("a check of permissions reports those that a user cannot give himself, and no others", async () => {
  const changes: Change[] = [
    { path: parsePath("own/a"), before: file("own/a", "old"), after: file("own/a", "new") },
    { path: parsePath("own/new"), before: undefined, after: folder("own/new") },
    { path: parsePath("own/new/f"), before: undefined, after: file("own/new/f", "fresh") },
  ];
  const disk = plant({ "/base/own": { folder: 0o555 }, "/base/own/a": "old" }, { ...USER, countsReads: true });
  const worktree = worktreeOn(disk, "/store/staging");
  const request = { changes, onBlocked: "skip" } as const;
  expect(await worktree.check({ ...request, permissions: true })).toMatchObject({ blocked: [] });
  for (const errno of ["EROFS", "EPERM"]) {
    disk.plan = ({ name }) => (name === "checkWrite" ? { errno } : "go");
    const { applied, blocked } = await worktree.check({ ...request, permissions: true });
    expect(applied).toEqual([]);
    expect(blocked.map(({ path, reason }) => [path, reason])).toEqual(
      changes.map(({ path }) => [path, "not-permitted"]),
    );
    expect((await worktree.check(request)).applied).toHaveLength(changes.length);
  }
});

test("read-only folders are read-only again once an apply that was cut off anywhere is finished", async () => {
  const changes: Change[] = [
    { path: parsePath("ro/a"), before: file("ro/a", "old"), after: file("ro/a", "new") },
    { path: parsePath("ro/b"), before: file("ro/b", "old"), after: undefined },
    { path: parsePath("ro/new"), before: undefined, after: folder("ro/new", 0o500) },
    { path: parsePath("ro/new/f"), before: undefined, after: file("ro/new/f", "fresh") },
  ];
  const request = { token: "TOKEN", changes, contents, onBlocked: "fail" } as const;
  await sweepCrashes({
    prepare: () => plant({ "/base/ro": { folder: 0o555 }, "/base/ro/a": "old", "/base/ro/b": "old" }),
    run: async (disk) => {
      await worktreeOn(disk, "/store/staging").apply(request);
    },
    check: async (disk) => {
      const report = await worktreeOn(disk, "/store/staging").apply({ ...request, resume: true });
      expect(report.blocked).toEqual([]);
      expect(disk.lstat("/base/ro")?.mode).toBe(0o555);
      expect(disk.lstat("/base/ro/new")?.mode).toBe(0o500);
      expect(disk.list("/base/ro").map((one) => one.name.toString())).toEqual(["a", "new"]);
    },
  });
});

test("nothing is changed beneath a folder where another file system is mounted, and everything else is", async () => {
  const disk = plant(
    { "/base/b": "old", "/base/m": { folder: 0o755 }, "/base/m/f": "old", "/base/m/g": "old" },
    { mounts: ["/base/m"] },
  );
  const worktree = worktreeOn(disk);
  await scan(worktree);
  const changes = [
    { path: parsePath("b"), before: file("b", "old"), after: file("b", "new") },
    { path: parsePath("m/f"), before: file("m/f", "old"), after: file("m/f", "new") },
    { path: parsePath("m/g"), before: file("m/g", "old"), after: undefined },
    { path: parsePath("m/h"), before: undefined, after: file("m/h", "new") },
  ];
  const paths = ["m/f", "m/g", "m/h"];
  const looked = await worktree.check({ changes, onBlocked: "skip", permissions: true });
  expect(looked.blocked.map(({ path, reason }) => [path, reason])).toEqual(paths.map((path) => [path, "busy"]));
  const done = await worktree.apply({ token: "TOKEN", changes, contents, onBlocked: "skip" });
  expect(done.applied).toEqual(["b"]);
  expect(Object.fromEntries(done.blocked.map(({ path, reason }) => [path, reason]))).toEqual(
    Object.fromEntries(paths.map((path) => [path, "busy"])),
  );
  const now = await Promise.all(["b", "m/f", "m/g"].map((path) => worktree.inspect(parsePath(path))));
  expect(now.map((entry) => entry?.hash)).toEqual([sha256("new"), sha256("old"), sha256("old")]);
  expect(disk.lstat("/base/m/h")).toBeUndefined();
});

test("a folder in which an interrupted apply has staged something can be removed, or become a file", async () => {
  const staged = { "/base/d/.chronicle-tmp-OLD": { folder: 0o700 }, "/base/d/.chronicle-tmp-OLD/0": "half" };
  const disk = plant({ "/base/d": { folder: 0o755 }, ...staged, "/base/e": { folder: 0o755 } });
  disk.makeFolder("/base/e/.chronicle-tmp-OLD");
  const worktree = worktreeOn(disk);
  await scan(worktree);
  const changes = [
    { path: parsePath("d"), before: folder("d"), after: undefined },
    { path: parsePath("e"), before: folder("e"), after: file("e", "new") },
  ];
  expect((await worktree.check({ changes, onBlocked: "fail", permissions: true })).blocked).toEqual([]);
  const done = await worktree.apply({ token: "TOKEN", changes, contents, onBlocked: "fail" });
  expect(done).toMatchObject({ applied: ["d", "e"], blocked: [] });
  await worktree.close();
});

test("a removal that is rolled back puts files back into a folder that is closed to its owner", async () => {
  const disk = plant({
    "/base/a": "old",
    "/base/other": "fresh",
    "/base/closed/inner": "old",
    "/base/closed": { folder: 0o555 },
  });
  const worktree = worktreeOn(disk);
  const changes: Change[] = [];
  for (const name of ["a", "closed", "closed/inner"]) {
    const path = parsePath(name);
    changes.push({ path, before: await worktree.inspect(path), after: undefined });
  }
  // Somebody saves a file by renaming, right before the file is to be removed.
  const begin = async (): Promise<void> => disk.rename("/base/other", "/base/a");
  const report = await worktree.apply({ token: "TOKEN", changes, contents, onBlocked: "fail", begin });
  expect(report).toMatchObject({ applied: [], blocked: [{ path: "a", reason: "changed" }] });
  expect(disk.content("/base/closed/inner")?.toString()).toBe("old");
  expect(disk.lstat("/base/closed")?.mode).toBe(0o555);
});

test.each(["5", "{}", "[1]", "null", '[["open",1e9],["../out",448],[7,448]]', '[["open"'])(
  "an invalid note of modes stops nothing: %s",
  async (note) => {
    const disk = plant({
      "/base/open": { folder: 0o755 },
      "/out": { folder: 0o755 },
      "/base/.chronicle-tmp/TOKEN/modes": note,
    });
    const worktree = worktreeOn(disk);
    const path = parsePath("open/new");
    const report = await worktree.apply({
      ...{ token: "TOKEN", onBlocked: "skip", resume: true, contents },
      changes: [{ path, before: undefined, after: file("open/new", "new") }],
    });
    expect(report).toMatchObject({ applied: ["open/new"], blocked: [] });
    expect([disk.lstat("/base/open")?.mode, disk.lstat("/out")?.mode]).toEqual([0o755, 0o755]);
    expect(disk.lstat("/base/.chronicle-tmp")).toBeUndefined();
  },
);

test("a file that was written at the last moment is kept also in folders that are closed to their owner", async () => {
  const disk = plant({
    "/base": { folder: 0o555 },
    "/base/ro": { folder: 0o555 },
    "/base/ro/a": "new",
    "/store/staging": { folder: 0o700 },
    "/store/staging/TOKEN": { folder: 0o700 },
    "/store/staging/TOKEN/old": { folder: 0o700 },
    "/store/staging/TOKEN/old/0": "at the last moment",
  });
  const report = await worktreeOn(disk, "/store/staging").apply({
    ...{ token: "TOKEN", onBlocked: "skip", resume: true, contents },
    changes: [{ path: parsePath("ro/a"), before: file("ro/a", "old"), after: file("ro/a", "new") }],
  });
  const [{ keptAt } = { keptAt: "" }] = report.conflicts;
  expect([report.blocked, disk.content(`/base/${keptAt}`)?.toString()]).toEqual([[], "at the last moment"]);
  expect(keptAt).toMatch(/^ro\/a\.conflict-/);
  expect(disk.lstat("/base/ro")?.mode).toBe(0o555);
});

/** Contents of any size by their hashes. */
function contentsOf(all: ReadonlyMap<Hash, Buffer>): typeof contents {
  return async function* (hashes) {
    for (const hash of hashes) {
      const bytes = all.get(hash) ?? Buffer.alloc(0);
      const pieces = async function* (): AsyncGenerator<Uint8Array> {
        yield bytes;
      };
      yield [hash, { size: bytes.length, pieces }] as const;
    }
  };
}

test.each([
  ["a large content of two files", Buffer.alloc(9 * 1024 * 1024, "x"), 2, [0o200, 0o200]],
  ["a large content, once of a file that may be read", Buffer.alloc(9 * 1024 * 1024, "x"), 2, [0o200, 0o640]],
  ["more files than are synced one by one", Buffer.from("new"), 300, [0o200, 0o000]],
])("files that their owner may not read are written: %s", async (_what, bytes, count, modes) => {
  const disk = plant({});
  const hash = sha256(bytes);
  const changes = Array.from({ length: count }, (_, i): Change => {
    const path = parsePath(`f${i}`);
    const mode = modes[i % modes.length] ?? 0;
    return { path, before: undefined, after: { path, kind: "file", mode, size: bytes.length, mtimeMs: 0, hash } };
  });
  const from = contentsOf(new Map([[hash, bytes]]));
  const report = await worktreeOn(disk).apply({ token: "TOKEN", changes, contents: from, onBlocked: "fail" });
  expect([report.blocked, report.applied.length]).toEqual([[], count]);
  for (const { path, after } of changes) {
    expect(disk.lstat(`/base/${path}`)).toMatchObject({ mode: after?.mode, size: bytes.length });
    expect(disk.content(`/base/${path}`)?.equals(bytes)).toBe(true);
  }
});
