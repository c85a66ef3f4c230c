import { expect, test } from "vitest";
import type { Change, Entry } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { ApplyRequest, ContentReader } from "../worktree.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parentOf, parsePath, type WorkspacePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { sweepCrashes } from "../../testing/crash-sweep.ts";
import { ConfinedFs } from "../files/confined-fs.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";
import { beneath } from "./early-stage.ts";

/** Tests how an apply uses files that were staged before the apply. */

/** The tree that the apply makes: content by path. The path of a folder ends in `/`. */
const GOAL = {
  "top.txt": "at the top",
  "src/": "",
  "src/a": "content of a",
  "src/deep/": "",
  "src/deep/b": "content of b",
  "src/late": "came too late",
  "there/in": "in a folder that is there",
  "there/new/": "",
  "there/new/c": "content of c",
  "was-file/": "",
  "was-file/d": "content of d",
} as const;

/** Early-staged files: some match the goal, some differ from it, and some are not in the goal. */
const EARLY = {
  "top.txt": GOAL["top.txt"],
  "src/a": GOAL["src/a"],
  "src/deep/b": "an older content of b",
  "src/deep/nobody/x": "not asked for",
  "src/late/y": "it is a file in the goal",
  "there/in": GOAL["there/in"],
  "there/new/c": GOAL["there/new/c"],
  "was-file/d": GOAL["was-file/d"],
  "elsewhere/z": "not asked for",
} as const;
const MATCHING = ["top.txt", "src/a", "there/in", "there/new/c", "was-file/d"];

const BEFORE = { "/base/there": { folder: 0o755 }, "/base/was-file": { content: "old" } };

function fileEntry(path: string, content: string, mode = 0o644): Entry {
  return { path: parsePath(path), kind: "file", mode, size: content.length, mtimeMs: 0, hash: sha256(content) };
}

function changes(): Change[] {
  return Object.entries(GOAL).map(([name, content]) => {
    const path = parsePath(name.replace(/\/$/, ""));
    const isFolder = name.endsWith("/");
    const folder: Entry = { path, kind: "dir", mode: 0o750, size: 0, mtimeMs: 0, hash: undefined };
    const before = name === "was-file/" ? fileEntry("was-file", "old") : undefined;
    return { path, before, after: isFolder ? folder : fileEntry(name, content) };
  });
}

async function* contents(hashes: Iterable<Hash>): AsyncGenerator<readonly [Hash, ContentReader | undefined]> {
  const all = new Map(Object.values(GOAL).map((text) => [sha256(text), Buffer.from(text)]));
  for (const hash of hashes) {
    const bytes = all.get(hash);
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      if (bytes !== undefined) yield bytes;
    };
    yield [hash, bytes === undefined ? undefined : { size: bytes.length, pieces }] as const;
  }
}

function worktreeOn(disk: SimDisk, staging: string | undefined): DiskWorktree {
  return new DiskWorktree({
    disk,
    roots: [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
    cacheFile: "/store/stat.cache",
    staging,
    storeFolders: ["/store"],
    clock: () => 1_800_000_000_000,
  });
}

const REQUEST: ApplyRequest = { token: "TOKEN", changes: changes(), contents, onBlocked: "fail" };

function plant(): SimDisk {
  return SimDisk.fromTree({ "/store/staging": { folder: 0o700 }, "/base": { folder: 0o755 }, ...BEFORE });
}

/** Stages the files of `EARLY`, as a fetch of contents does. Returns the stat of each staged file. */
function stageEarly(disk: SimDisk, worktree: DiskWorktree, { isEnded = true } = {}): Map<string, FileStat> {
  const stage = worktree.early;
  if (stage === undefined) throw new Error("there is a folder");
  const stats = new Map<string, FileStat>();
  const { base, folder } = stage.begin();
  using fs = new ConfinedFs(disk, base);
  for (const [name, content] of Object.entries(EARLY)) {
    const path = beneath(folder, parsePath(name));
    makeFolders(fs, parentOf(path));
    using file = fs.create(path, 0o644);
    fs.write(file, Buffer.from(content));
    const stat = fs.fstat(file);
    stage.note(parsePath(name), { entry: { hash: sha256(content), mode: 0o644 }, stat });
    stats.set(name, stat);
  }
  if (isEnded) stage.end();
  return stats;
}

function makeFolders(fs: ConfinedFs, folder: WorkspacePath): void {
  if (fs.lstat(folder) !== undefined) return;
  makeFolders(fs, parentOf(folder));
  fs.makeFolder(folder, 0o700);
}

function treeOf(disk: SimDisk, folder = ""): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { name, kind } of disk.list(`/base/${folder}`)) {
    const path = `${folder}${name.toString()}`;
    if (path === ".chronicle-tmp") continue;
    if (kind === "dir") Object.assign(found, { [`${path}/`]: "" }, treeOf(disk, `${path}/`));
    else found[path] = contentOf(disk, `/base/${path}`);
  }
  return found;
}

function contentOf(disk: SimDisk, path: string): string {
  const fd = disk.open(path, "read");
  const bytes = Buffer.alloc(disk.fstat(fd).size);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return bytes.toString();
}

const DONE = { ...GOAL, "there/": "" };

for (const [where, staging] of [
  ["in the store", "/store/staging"],
  ["in the root", undefined],
] as const) {
  test(`an apply takes over the early-staged files that match its goal, and no others; staging ${where}`, async () => {
    const disk = plant();
    const worktree = worktreeOn(disk, staging);
    const stats = stageEarly(disk, worktree);
    const progress: number[] = [];
    const report = await worktree.apply({ ...REQUEST, onProgress: (done) => progress.push(done) });
    expect(report).toMatchObject({ blocked: [], conflicts: [] });
    expect(treeOf(disk)).toEqual(DONE);
    const inodeOf = (name: string): bigint | undefined => disk.lstat(`/base/${name}`)?.ino;
    const taken = Object.keys(EARLY).filter((name) => stats.get(name)?.ino === inodeOf(name));
    expect(taken.toSorted()).toEqual(MATCHING.toSorted());
    for (const name of ["src", "src/deep", "there/new", "was-file"])
      expect(disk.lstat(`/base/${name}`)?.mode).toBe(0o750);
    expect(disk.list("/store/staging")).toEqual([]);
    expect(disk.openDescriptors).toBe(0);
    // The applied files are known without reading: a scan reports only files that were there before.
    const found: string[] = [];
    await worktree.scan({}, (batch) => found.push(...batch.map(({ path }) => path)));
    expect(found.filter((path) => path in GOAL)).toEqual([]);
    // The files that were taken over are durable after the apply, although nobody had synced them before.
    expect(treeOf(disk.crash("forget"))).toEqual(DONE);
  });

  test(`an apply that is cut off anywhere is finished without the early-staged files; staging ${where}`, async () => {
    const result = await sweepCrashes({
      prepare: plant,
      run: async (disk) => {
        const worktree = worktreeOn(disk, staging);
        stageEarly(disk, worktree);
        await worktree.apply(REQUEST);
      },
      check: async (disk) => {
        const worktree = worktreeOn(disk, staging);
        worktree.early?.clear();
        const report = await worktree.apply({ ...REQUEST, resume: true });
        expect(report.blocked).toEqual([]);
        await worktree.cleanUp("TOKEN");
        expect(treeOf(disk)).toEqual(DONE);
        expect(disk.list("/store/staging")).toEqual([]);
        expect(disk.openDescriptors).toBe(0);
      },
    });
    expect(result.points).toBeGreaterThan(50);
  });
}

test("an apply does not use an early stage that has not ended, and a resumed apply leaves the early stage alone", async () => {
  const disk = plant();
  const worktree = worktreeOn(disk, "/store/staging");
  const stats = stageEarly(disk, worktree, { isEnded: false });
  await worktree.apply(REQUEST);
  expect(treeOf(disk)).toEqual(DONE);
  expect(disk.lstat("/base/top.txt")?.ino).not.toBe(stats.get("top.txt")?.ino);
  worktree.early?.end();
  await worktree.apply({ ...REQUEST, resume: true });
  expect(disk.list("/store/staging").map(({ name }) => name.toString())).toEqual(["early"]);
  worktree.early?.clear();
  expect(disk.list("/store/staging")).toEqual([]);
});

test("early-staged files that an apply cannot use are removed", async () => {
  for (const more of [{ keepMtime: true }, { changes: [] }] as const) {
    const disk = plant();
    const worktree = worktreeOn(disk, "/store/staging");
    stageEarly(disk, worktree);
    const report = await worktree.apply({ ...REQUEST, ...more });
    await worktree.close();
    expect(report.blocked).toEqual([]);
    expect(disk.list("/store/staging")).toEqual([]);
    expect(disk.openDescriptors).toBe(0);
  }
});

test("an apply does not ask for space for files that are already staged", async () => {
  const disk = SimDisk.fromTree(
    { "/store/staging": { folder: 0o700 }, "/base": { folder: 0o755 } },
    { capacityBytes: 3_000 },
  );
  const worktree = worktreeOn(disk, "/store/staging");
  const content = "x".repeat(2_000);
  const { base, folder } = worktree.early?.begin() ?? { base: "", folder: parsePath("none") };
  {
    using fs = new ConfinedFs(disk, base);
    using file = fs.create(beneath(folder, parsePath("big")), 0o644);
    fs.write(file, Buffer.from(content));
    const entry = { hash: sha256(content), mode: 0o644 };
    worktree.early?.note(parsePath("big"), { entry, stat: fs.fstat(file) });
  }
  worktree.early?.end();
  const after = fileEntry("big", content);
  const report = await worktree.apply({ ...REQUEST, changes: [{ path: after.path, before: undefined, after }] });
  expect(report).toMatchObject({ applied: ["big"], blocked: [] });
});

test("if the early sync fails, the apply changes nothing, and its resumption stages all files anew", async () => {
  const disk = SimDisk.fromTree(
    { "/store/staging": { folder: 0o700 }, "/base": { folder: 0o755 }, ...BEFORE },
    { syncsAll: true },
  );
  const worktree = worktreeOn(disk, "/store/staging");
  let syncs = 0;
  // Only the first sync fails. The next one succeeds, as the kernel reports a write error to only one of two syncs.
  disk.plan = ({ name }) => (name === "syncAll" && (syncs += 1) === 1 ? { errno: "EIO" } : "go");
  const stats = stageEarly(disk, worktree);
  await expect(worktree.apply(REQUEST)).rejects.toMatchObject({ code: "EIO" });
  expect(treeOf(disk)).toEqual({ "there/": "", "was-file": "old" });
  const report = await worktree.apply({ ...REQUEST, resume: true });
  expect(report.blocked).toEqual([]);
  expect(treeOf(disk)).toEqual(DONE);
  expect(disk.lstat("/base/top.txt")?.ino).not.toBe(stats.get("top.txt")?.ino);
});

test("the sync of a cleared early stage comes before the staging of an apply", async () => {
  const disk = SimDisk.fromTree(
    { "/store/staging": { folder: 0o700 }, "/base": { folder: 0o755 }, ...BEFORE },
    { syncsAll: true },
  );
  const worktree = worktreeOn(disk, "/store/staging");
  const made: string[] = [];
  disk.plan = ({ name, path }) => {
    if (name === "syncAll" || (name === "makeFolder" && path.includes("TOKEN"))) made.push(name);
    return "go";
  };
  stageEarly(disk, worktree);
  worktree.early?.clear();
  await worktree.apply(REQUEST);
  expect(made[0]).toBe("syncAll");
  expect(treeOf(disk)).toEqual(DONE);
});
