import { expect, test } from "vitest";
import { type Change, type Entry, type EntryKind, SYMLINK_MODE } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { SimTree } from "../../testing/sim-disk/sim-tree.ts";
import type { ApplyReport, ApplyRequest, ContentReader } from "../worktree.ts";
import { DEFAULT_FILTER } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { SimDisk } from "../../testing/sim-disk/sim-disk.ts";
import { sweepCrashes } from "../../testing/crash-sweep.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";

type Node = { readonly kind: EntryKind; readonly mode: number; readonly content: string };
type Tree = Readonly<Record<string, Node>>;

const file = (content: string, mode = 0o644): Node => ({ kind: "file", mode, content });
const dir = (mode = 0o755): Node => ({ kind: "dir", mode, content: "" });
const link = (content: string): Node => ({ kind: "symlink", mode: SYMLINK_MODE, content });

/** The tree before the apply. Between `BEFORE` and `AFTER`, paths differ in every possible way. */
const BEFORE: Tree = {
  same: file("untouched"),
  edited: file("old content of some length"),
  moded: file("x", 0o644),
  removed: file("going"),
  gone: dir(),
  "gone/inner": dir(),
  "gone/inner/leaf": file("leaf"),
  "gone/link": link("nowhere"),
  "to-file": dir(),
  "to-file/child": file("child"),
  "to-dir": file("was a file"),
  "to-link": file("was a file too"),
  retargeted: link("old-target"),
  kept: dir(),
  "kept/edited": file("old in a folder"),
};

const AFTER: Tree = {
  same: file("untouched"),
  edited: file("new content"),
  moded: file("x", 0o755),
  "to-file": file("now a file"),
  "to-dir": dir(0o750),
  "to-dir/new": file("in it"),
  "to-link": link("same"),
  retargeted: link("new-target"),
  kept: dir(),
  "kept/edited": file("new in a folder"),
  "kept/fresh": file("fresh in a folder"),
  made: dir(),
  "made/deep": dir(0o700),
  "made/deep/a": file("a"),
  "made/deep/b": file("b", 0o600),
  fresh: file("fresh"),
};

function entryOf(path: string, node: Node | undefined): Entry | undefined {
  if (node === undefined) return undefined;
  const isDir = node.kind === "dir";
  const hash = isDir ? undefined : sha256(node.content);
  return { path: parsePath(path), kind: node.kind, mode: node.mode, size: node.content.length, mtimeMs: 0, hash };
}

function changesOf(before: Tree, after: Tree): Change[] {
  const paths = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return paths.flatMap((path) => {
    const change = { path: parsePath(path), before: entryOf(path, before[path]), after: entryOf(path, after[path]) };
    return JSON.stringify(before[path]) === JSON.stringify(after[path]) ? [] : [change];
  });
}

async function* contents(hashes: Iterable<Hash>): AsyncGenerator<readonly [Hash, ContentReader | undefined]> {
  const all = new Map(Object.values({ ...BEFORE, ...AFTER }).map((one) => [sha256(one.content), one.content]));
  for (const tree of [BEFORE, AFTER]) for (const one of Object.values(tree)) all.set(sha256(one.content), one.content);
  for (const hash of hashes) {
    const bytes = Buffer.from(all.get(hash) ?? "");
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      yield bytes;
    };
    yield [hash, all.has(hash) ? { size: bytes.length, pieces } : undefined] as const;
  }
}

function plant(tree: Tree): SimTree {
  const planted: Record<string, SimTree[string]> = { "/store/staging": { folder: 0o700 }, "/base": { folder: 0o755 } };
  for (const [path, node] of Object.entries(tree)) {
    if (node.kind === "dir") planted[`/base/${path}`] = { folder: node.mode };
    else if (node.kind === "symlink") planted[`/base/${path}`] = { symlink: node.content };
    else planted[`/base/${path}`] = { content: node.content, mode: node.mode };
  }
  return planted;
}

function read(disk: SimDisk, path: string): Node {
  const at = `/base/${path}`;
  const stat = disk.lstat(at);
  if (stat?.kind === "symlink") return link(disk.readlink(at).toString());
  if (stat?.kind === "dir") return dir(stat.mode);
  const fd = disk.open(at, "read");
  const bytes = Buffer.alloc(stat?.size ?? 0);
  disk.read(fd, bytes, 0);
  disk.close(fd);
  return file(bytes.toString(), stat?.mode);
}

function treeOf(disk: SimDisk, folder = ""): Record<string, Node> {
  const found: Record<string, Node> = {};
  for (const { name, kind } of disk.list(folder === "" ? "/base" : `/base/${folder}`)) {
    const path = folder === "" ? name.toString() : `${folder}/${name.toString()}`;
    found[path] = read(disk, path);
    if (kind === "dir") Object.assign(found, treeOf(disk, path));
  }
  return found;
}

/** `clock`: in milliseconds. */
function worktreeOn(disk: SimDisk, staging: string | undefined, clock = () => 1_800_000_000_000): DiskWorktree {
  const limits = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };
  const roots = [{ id: undefined, folder: "/base", filter: DEFAULT_FILTER, limits }];
  return new DiskWorktree({ disk, roots, cacheFile: "/store/stat.cache", staging, storeFolders: ["/store"], clock });
}

function apply(disk: SimDisk, staging: string | undefined, more: Partial<ApplyRequest> = {}): Promise<ApplyReport> {
  return worktreeOn(disk, staging).apply({
    token: "TOKEN",
    changes: changesOf(BEFORE, AFTER),
    contents,
    onBlocked: "fail",
    ...more,
  });
}

/**
 * Checks that each file that exists has its old or its new content, never a mixture. While the new content replaces the
 * old content, a file can be missing.
 */
function expectWhole(disk: SimDisk): void {
  for (const [path, node] of Object.entries(treeOf(disk))) {
    if (path.includes(".chronicle-tmp") || node.kind === "dir") continue;
    expect([BEFORE[path]?.content, AFTER[path]?.content].map((text) => `${path}: ${text}`)).toContain(
      `${path}: ${node.content}`,
    );
  }
  expect(treeOf(disk)["same"]).toEqual(BEFORE["same"]);
}

for (const [where, staging] of [
  ["in the store", "/store/staging"],
  ["in the root", undefined],
] as const) {
  test(`an apply that is cut off anywhere and then resumed makes exactly the wanted tree; staging ${where}`, async () => {
    const result = await sweepCrashes({
      prepare: () => SimDisk.fromTree(plant(BEFORE)),
      run: async (disk) => {
        await apply(disk, staging);
      },
      check: async (disk) => {
        expectWhole(disk);
        const report = await apply(disk, staging, { resume: true });
        expect(report.blocked).toEqual([]);
        expect(treeOf(disk)).toEqual({ ...AFTER });
        expect(disk.list("/store/staging")).toEqual([]);
        expect(disk.openDescriptors).toBe(0);
      },
    });
    expect(result.points).toBeGreaterThan(50);
  });
}

const LOG = "/store/log";

/** Returns a `begin` that durably appends one line to a log. */
function beginOn(disk: SimDisk): () => Promise<void> {
  return async () => {
    const fd = disk.open(LOG, "append");
    try {
      disk.write(fd, Buffer.from("begun\n"), null);
      await disk.syncBeside(fd);
      disk.syncFolder("/store");
    } finally {
      disk.close(fd);
    }
  };
}

for (const [where, staging] of [
  ["in the store", "/store/staging"],
  ["in the root", undefined],
] as const) {
  test(`an apply that is cut off anywhere has changed files only if its begin is durable; staging ${where}`, async () => {
    const result = await sweepCrashes({
      prepare: () => SimDisk.fromTree(plant(BEFORE)),
      run: async (disk) => void (await apply(disk, staging, { begin: beginOn(disk) })),
      check: async (disk) => {
        const isBegun = disk.lstat(LOG)?.size === "begun\n".length;
        const files = Object.entries(treeOf(disk)).filter(([path]) => !path.includes(".chronicle-tmp"));
        if (!isBegun) expect(Object.fromEntries(files)).toEqual({ ...BEFORE });
        else expectWhole(disk);
        // Both applies have the same token, and the first one may have left staged files. In replicas, this can happen,
        // because the token of a replica stays the same until an event is recorded.
        const report = await apply(disk, staging, isBegun ? { resume: true } : { begin: beginOn(disk) });
        expect(report.blocked).toEqual([]);
        expect(treeOf(disk)).toEqual({ ...AFTER });
        expect(disk.list("/store/staging")).toEqual([]);
        expect(disk.openDescriptors).toBe(0);
      },
      every: 2,
    });
    expect(result.points).toBeGreaterThan(50);
  });
}

test("staging of an apply that failed before it began is removed a day later", async () => {
  let hours = 500_000;
  const disk = SimDisk.fromTree(plant(BEFORE), { clock: () => BigInt(hours) * 3_600_000_000_000n });
  const begin = () => Promise.reject(new Error("cut off"));
  for (const [staging, token] of [
    ["/store/staging", "GONE"],
    [undefined, "AWAY"],
  ] as const) {
    disk.plan = ({ name }) => (name === "unlink" || name === "removeFolder" ? { errno: "EIO" } : "go");
    await expect(apply(disk, staging, { token, begin })).rejects.toThrow("cut off");
    disk.plan = undefined;
  }
  const left = () =>
    [disk.lstat("/store/staging/GONE"), disk.lstat("/base/.chronicle-tmp/AWAY")].map((one) => one?.kind);
  expect(left()).toEqual(["dir", "dir"]);
  // Each apply has also left a place for staged files in the folder `kept`. The store's staging folder notes the place
  // of GONE, so the next apply removes it. Only the tracked folder notes the place of AWAY. That place may belong to
  // another process, so it stays for a day.
  const places = () => ["GONE", "AWAY"].map((token) => disk.lstat(`/base/kept/.chronicle-tmp-${token}`)?.kind);
  expect(places()).toEqual(["dir", "dir"]);
  hours += 1;
  for (const staging of ["/store/staging", undefined]) await apply(disk, staging, { begin: async () => undefined });
  expect(left()).toEqual(["dir", "dir"]);
  expect(places()).toEqual([undefined, "dir"]);
  hours += 24;
  const changes = changesOf(AFTER, BEFORE);
  await apply(disk, "/store/staging", { changes, begin: async () => undefined });
  await apply(disk, undefined, { begin: async () => undefined });
  expect([...left(), ...places()]).toEqual([undefined, undefined, undefined, undefined]);
});

test("a staging place without a note is removed a day later, if a scan has found it", async () => {
  let hours = 500_000;
  const lost = ["/base/.chronicle-tmp-LOST-1", "/base/kept/.chronicle-tmp-LOST-2"];
  const disk = SimDisk.fromTree(plant(BEFORE), { clock: () => BigInt(hours) * 3_600_000_000_000n });
  for (const folder of lost.flatMap((place) => [place, `${place}/inner`])) disk.makeFolder(folder, 0o700);
  const there = () => lost.filter((place) => disk.lstat(place) !== undefined);
  const begin = async () => undefined;
  const work = async (changes: readonly Change[]): Promise<void> => {
    const worktree = worktreeOn(disk, "/store/staging", () => hours * 3_600_000);
    await worktree.scan({}, () => undefined);
    await worktree.apply({ token: "T", changes, contents, onBlocked: "fail", begin });
    await worktree.save(1);
  };
  await work(changesOf(BEFORE, AFTER));
  expect(there()).toEqual(lost);
  hours += 24;
  await work(changesOf(AFTER, BEFORE));
  expect(there()).toEqual([]);
});

test("changes that an apply reports as applied survive a loss of power right after", async () => {
  const disk = SimDisk.fromTree(plant(BEFORE));
  const report = await apply(disk, "/store/staging");
  expect(report).toMatchObject({ blocked: [], conflicts: [] });
  const after = disk.crash("forget");
  expect(treeOf(after)).toEqual({ ...AFTER });
});

test("an apply changes nothing if the disk runs full", async () => {
  for (const capacityBytes of [140, 150, 160, 170, 180]) {
    const disk = SimDisk.fromTree(plant(BEFORE), { capacityBytes });
    const report = await apply(disk, "/store/staging").catch((error: unknown) => error);
    if (treeOf(disk)["edited"]?.content === AFTER["edited"]?.content) continue;
    expect(report).toMatchObject({ applied: [] });
    expect(treeOf(disk)).toEqual({ ...BEFORE });
  }
});
