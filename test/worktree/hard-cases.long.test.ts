import { execFileSync, spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Change, Entry } from "../../src/core/values/entry.ts";
import type { Hash } from "../../src/core/values/hash.ts";
import type { WorkspacePath } from "../../src/core/values/path.ts";
import type { DiskPath } from "../../src/disk/disk.ts";
import type {
  ApplyReport,
  ApplyRequest,
  ContentReader,
  ScanReport,
  ScanRequest,
  TrackedRoot,
} from "../../src/worktree/worktree.ts";
import { DEFAULT_FILTER } from "../../src/core/filter/filter.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { parsePath, pathFromBytes, pathInRoot } from "../../src/core/values/path.ts";
import { NodeDisk } from "../../src/disk/node-disk.ts";
import { ConfinedFs } from "../../src/worktree/files/confined-fs.ts";
import { DiskWorktree } from "../../src/worktree/disk/disk-worktree.ts";
import { removeTree } from "../../src/worktree/files/remove-staged.ts";

const NO_LIMITS = { maxEntries: 0, maxBytes: 0, maxFileSize: 0 };

/** 254 bytes in UTF-8. */
const LONG = `${"é".repeat(125)}.pem`;

let base: string;
let root: string;
let ahead = 0;
const contents = new Map<Hash, Buffer>();

beforeEach(() => {
  base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "hard-")));
  root = join(base, "root");
  fs.mkdirSync(root);
  fs.mkdirSync(join(base, "store"));
  ahead = 0;
});

afterEach(() => {
  const disk = new NodeDisk();
  using all = new ConfinedFs(disk, base);
  for (const name of fs.readdirSync(base)) removeTree(all, parsePath(name));
  all.release();
  fs.rmdirSync(base);
});

function open(disk: NodeDisk = new NodeDisk(), more: readonly TrackedRoot[] = []): DiskWorktree {
  const first: TrackedRoot = { id: undefined, folder: root, filter: DEFAULT_FILTER, limits: NO_LIMITS };
  return new DiskWorktree({
    disk,
    roots: [first, ...more],
    cacheFile: join(base, "store/stat.cache"),
    staging: join(base, "store/staging"),
    storeFolders: [join(base, "store"), join(root, "inner-store")],
    clock: () => Date.now() + ahead,
  });
}

async function scan(
  worktree: DiskWorktree,
  request: ScanRequest = {},
): Promise<ScanReport & { changed: WorkspacePath[] }> {
  const changed: WorkspacePath[] = [];
  const report = await worktree.scan(request, (batch) => changed.push(...batch.map((one) => one.path)));
  return { ...report, changed };
}

async function entry(worktree: DiskWorktree, path: string): Promise<Entry> {
  const found = await worktree.inspect(parsePath(path));
  if (found === undefined) throw new Error(`nothing at ${path}`);
  return found;
}

function fileEntry(path: WorkspacePath, content: string | Buffer, mode = 0o644): Entry {
  const bytes = Buffer.from(content);
  const hash = sha256(bytes);
  contents.set(hash, bytes);
  return { path, kind: "file", mode, size: bytes.length, mtimeMs: 0, hash };
}

async function* read(hashes: Iterable<Hash>): AsyncGenerator<readonly [Hash, ContentReader | undefined]> {
  for (const hash of hashes) {
    const bytes = contents.get(hash);
    const pieces = async function* (): AsyncGenerator<Uint8Array> {
      if (bytes !== undefined)
        for (let at = 0; at < bytes.length; at += 1 << 20) yield bytes.subarray(at, at + (1 << 20));
    };
    yield [hash, bytes === undefined ? undefined : { size: bytes.length, pieces }] as const;
  }
}

function apply(worktree: DiskWorktree, changes: Change[], more: Partial<ApplyRequest> = {}): Promise<ApplyReport> {
  return worktree.apply({ token: "01HARDCASES", changes, contents: read, onBlocked: "fail", ...more });
}

describe("what lies in a workspace", () => {
  test("pipes and sockets are listed and never opened", async () => {
    execFileSync("mkfifo", [join(root, "pipe")]);
    const server = createServer().listen(join(root, "socket"));
    await new Promise((done) => server.once("listening", done));
    fs.writeFileSync(join(root, "file"), "f");
    const report = await scan(open());
    server.close();
    expect(report.changed).toEqual(["file"]);
    expect(report.omitted).toMatchObject([
      { path: "pipe", reason: "special" },
      { path: "socket", reason: "special" },
    ]);
  });

  test("names that are not UTF-8 are kept to the byte, and come back", async () => {
    const name = Buffer.from([0x66, 0xff, 0xfe, 0x2e]);
    fs.writeFileSync(Buffer.concat([Buffer.from(`${root}/`), name]), "odd");
    const worktree = open();
    const { changed } = await scan(worktree);
    expect(changed).toEqual([pathFromBytes(name)]);
    const path = pathFromBytes(name);
    const before = await worktree.inspect(path);
    expect(before?.hash).toBe(sha256("odd"));
    await apply(worktree, [{ path, before, after: undefined }]);
    expect(fs.readdirSync(root)).toEqual([]);
    await apply(worktree, [{ path, before: undefined, after: fileEntry(path, "odd") }]);
    expect(fs.readdirSync(root, "buffer")).toEqual([name]);
  });

  test("paths longer than the system takes at once work: scan, read, write, remove", async () => {
    const parts = Array.from({ length: 40 }, (_, i) => `${i}-`.padEnd(200, "x"));
    const changes: Change[] = parts.map((_, i) => {
      const path = parsePath(parts.slice(0, i + 1).join("/"));
      return {
        path,
        before: undefined,
        after: { path, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined },
      };
    });
    const deep = parsePath([...parts, "leaf"].join("/"));
    expect(deep.length).toBeGreaterThan(8000);
    changes.push({ path: deep, before: undefined, after: fileEntry(deep, "deep") });
    const worktree = open();
    expect(await apply(worktree, changes)).toMatchObject({ blocked: [] });
    const fresh = open();
    expect((await scan(fresh)).changed).toContain(deep);
    expect((await fresh.inspect(deep))?.hash).toBe(sha256("deep"));
    const back = changes.map(({ path, after }): Change => ({ path, before: after, after: undefined }));
    expect(await apply(worktree, back)).toMatchObject({ blocked: [] });
    expect(fs.readdirSync(root)).toEqual([]);
  });

  test("the store is left out by device and inode, under whatever name", async () => {
    fs.mkdirSync(join(root, "inner-store"));
    fs.writeFileSync(join(root, "inner-store/x"), "x");
    const report = await scan(open());
    expect(report.changed).toEqual([]);
    expect(report.omitted).toMatchObject([{ path: "inner-store", reason: "store" }]);
  });

  test("several roots, one of them a single file, are kept apart", async () => {
    const second = join(base, "second");
    fs.mkdirSync(second);
    fs.writeFileSync(join(second, "only"), "o");
    fs.writeFileSync(join(second, "other"), "x");
    fs.writeFileSync(join(root, "a"), "a");
    const worktree = open(new NodeDisk(), [
      { id: "two", folder: second, only: "only", filter: DEFAULT_FILTER, limits: NO_LIMITS },
    ]);
    const path = pathInRoot("two", parsePath("only"));
    expect((await scan(worktree)).changed).toEqual(["a", path]);
    const before = await worktree.inspect(path);
    await apply(worktree, [{ path, before, after: fileEntry(path, "new") }]);
    expect(fs.readFileSync(join(second, "only"), "utf8")).toBe("new");
    fs.writeFileSync(join(second, "only"), "edited");
    expect((await scan(worktree, { only: [path] })).changed).toEqual([path]);
  });

  test("a tracked folder that is not there is an error, not a deletion of everything", async () => {
    const worktree = open();
    fs.rmdirSync(root);
    await expect(scan(worktree)).rejects.toMatchObject({ code: "NOT_FOUND" });
    fs.mkdirSync(root);
  });

  test("a tracked folder that is moved away during a scan is an error, too", async () => {
    for (let i = 0; i < 100; i += 1) {
      fs.mkdirSync(join(root, `d${i}`));
      for (let k = 0; k < 60; k += 1) fs.writeFileSync(join(root, `d${i}/f${k}`), "x");
    }
    const worktree = open();
    await worktree.scan({}, (batch) => {
      const files = batch.filter(({ stat }) => stat.kind === "file");
      worktree.remember(files.map(({ path, stat }) => ({ entry: fileEntry(path, "x"), stat })));
    });
    // The scan lets other tasks run after some thousand paths.
    const looking = scan(worktree);
    setImmediate(() => fs.renameSync(root, `${root}-away`));
    await expect(looking).rejects.toMatchObject({ code: "NOT_FOUND" });
    fs.renameSync(`${root}-away`, root);
  });

  test("files that come and go during a scan are no error", async () => {
    for (let i = 0; i < 300; i += 1) fs.mkdirSync(join(root, `d${i}`));
    const worker = new Worker(
      `const fs = require("node:fs"); const { workerData: root } = require("node:worker_threads");
       for (let n = 0; ; n += 1) { const d = root + "/d" + (n % 300);
         try { fs.writeFileSync(d + "/f", "x"); fs.renameSync(d, d + "-moved"); fs.rmSync(d + "-moved", { recursive: true }); fs.mkdirSync(d); } catch {} }`,
      { eval: true, workerData: root },
    );
    const worktree = open();
    for (let round = 0; round < 15; round += 1) {
      const report = await scan(worktree);
      expect(report.omitted.filter((one) => one.reason !== "unstable")).toEqual([]);
    }
    await worker.terminate();
  });
});

describe("restoring while others write", () => {
  test("a hard link is replaced, never written through", async () => {
    fs.writeFileSync(join(base, "outside"), "shared");
    fs.linkSync(join(base, "outside"), join(root, "linked"));
    const worktree = open();
    const path = parsePath("linked");
    await apply(worktree, [{ path, before: await entry(worktree, "linked"), after: fileEntry(path, "mine") }]);
    expect(fs.readFileSync(join(base, "outside"), "utf8")).toBe("shared");
    expect(fs.readFileSync(join(root, "linked"), "utf8")).toBe("mine");
  });

  test("an edit while contents are being staged blocks, and nothing is changed", async () => {
    fs.writeFileSync(join(root, "a"), "1");
    fs.writeFileSync(join(root, "b"), "1");
    const worktree = open();
    const changes: Change[] = [];
    for (const name of ["a", "b"]) {
      const path = parsePath(name);
      changes.push({ path, before: await entry(worktree, name), after: fileEntry(path, "restored") });
    }
    const meanwhile: ApplyRequest["contents"] = async function* (hashes) {
      fs.writeFileSync(join(root, "b"), "edited");
      yield* read(hashes);
    };
    const report = await apply(worktree, changes, { contents: meanwhile });
    expect(report).toMatchObject({ applied: [], blocked: [{ path: "b", reason: "changed" }] });
    expect([fs.readFileSync(join(root, "a"), "utf8"), fs.readFileSync(join(root, "b"), "utf8")]).toEqual([
      "1",
      "edited",
    ]);
    expect(fs.readdirSync(root).sort()).toEqual(["a", "b"]);
  });

  /** A disk on which somebody acts between the last look at a file and the moment it is renamed over, or away. */
  class Intruder extends NodeDisk {
    act: (() => void) | undefined;
    readonly #name: RegExp;
    constructor(name = "a|b") {
      super();
      this.#name = new RegExp(`/(${name})$`);
    }
    override rename(from: DiskPath, to: DiskPath): void {
      if (this.#name.test(String(to)) || this.#name.test(String(from))) {
        this.act?.();
        this.act = undefined;
      }
      super.rename(from, to);
    }
  }

  test.each([
    ["replaced", fileEntry(parsePath("a"), "restored")],
    ["removed", undefined],
  ])("bytes written at the very last moment to a file that is %s are kept beside it", async (_how, after) => {
    fs.writeFileSync(join(root, "a"), "old");
    const disk = new Intruder();
    const worktree = open(disk);
    const before = await entry(worktree, "a");
    disk.act = () => fs.writeFileSync(join(root, "a"), "at the last moment");
    const report = await apply(worktree, [{ path: parsePath("a"), before, after }]);
    expect(report.conflicts).toEqual([{ path: "a", keptAt: "a.conflict-ardcases" }]);
    expect(fs.readFileSync(join(root, "a.conflict-ardcases"), "utf8")).toBe("at the last moment");
    expect(fs.existsSync(join(root, "a"))).toBe(after !== undefined);
  });

  test.each([
    ["replaced", fileEntry(parsePath(LONG), "restored")],
    ["removed", undefined],
  ])("such bytes of a file that is %s are kept, even if its name is as long as a name may be", async (_how, after) => {
    fs.writeFileSync(join(root, LONG), "old");
    const disk = new Intruder(LONG);
    const worktree = open(disk);
    const before = await entry(worktree, LONG);
    disk.act = () => fs.writeFileSync(join(root, LONG), "at the last moment");
    const report = await apply(worktree, [{ path: parsePath(LONG), before, after }]);
    const [{ path, keptAt } = { path: "", keptAt: "" }] = report.conflicts;
    expect([path, keptAt]).toEqual([LONG, expect.stringMatching(/^é+\.pem\.conflict-ardcases$/)]);
    expect(fs.readFileSync(join(root, keptAt), "utf8")).toBe("at the last moment");
  });

  test("a copy is removed again if the operation is rolled back, because the file has its content", async () => {
    for (const name of ["a", "b"]) fs.writeFileSync(join(root, name), "old");
    const disk = new Intruder();
    const worktree = open(disk);
    const changes: Change[] = [];
    for (const name of ["a", "b"])
      changes.push({
        path: parsePath(name),
        before: await entry(worktree, name),
        after: fileEntry(parsePath(name), "new"),
      });
    disk.act = () => {
      fs.writeFileSync(join(root, "a"), "at the last moment");
      fs.rmSync(join(root, "b"));
    };
    const report = await apply(worktree, changes);
    expect(report).toMatchObject({ applied: [], blocked: [{ path: "b", reason: "changed" }], conflicts: [] });
    expect(fs.readdirSync(root)).toEqual(["a"]);
    expect(fs.readFileSync(join(root, "a"), "utf8")).toBe("at the last moment");
    expect(fs.statSync(join(root, "a")).nlink).toBe(1);
  });

  /** A disk that refuses each name for a copy. */
  class Full extends Intruder {
    isRefused = false;
    override link(from: DiskPath, to: DiskPath): void {
      this.#refuse(to);
      super.link(from, to);
    }
    override rename(from: DiskPath, to: DiskPath): void {
      this.#refuse(to);
      super.rename(from, to);
    }
    #refuse(to: DiskPath): void {
      if (!String(to).includes(".conflict-")) return;
      this.isRefused = true;
      throw Object.assign(new Error("no space"), { code: "ENOSPC" });
    }
  }

  test.each([
    ["replaced", "fail", fileEntry(parsePath("a"), "restored")],
    ["replaced", "skip", fileEntry(parsePath("a"), "restored")],
    ["removed", "fail", undefined],
    ["removed", "skip", undefined],
  ] as const)("a file that is %s stays if no copy of it can be made (%s)", async (_how, onBlocked, after) => {
    fs.writeFileSync(join(root, "a"), "old");
    const disk = new Full();
    const worktree = open(disk);
    const before = await entry(worktree, "a");
    disk.act = () => fs.writeFileSync(join(root, "a"), "at the last moment");
    const report = await apply(worktree, [{ path: parsePath("a"), before, after }], { onBlocked });
    expect(report).toMatchObject({ applied: [], blocked: [{ path: "a", reason: "changed" }], conflicts: [] });
    expect(fs.readFileSync(join(root, "a"), "utf8")).toBe("at the last moment");
    expect(fs.readdirSync(root)).toEqual(["a"]);
  });

  /** A disk that, while `isCut` is true, refuses to give a file its own name again. */
  class Cut extends Full {
    isCut = true;
    override rename(from: DiskPath, to: DiskPath): void {
      if (this.isCut && this.isRefused && String(to).endsWith("/a"))
        throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      super.rename(from, to);
    }
  }

  test.each([
    ["replaced", fileEntry(parsePath("a"), "restored")],
    ["removed", undefined],
  ] as const)(
    "an apply that fails because a file cannot get its name again is finished later: a file that is %s",
    async (_how, after) => {
      fs.writeFileSync(join(root, "a"), "old");
      const disk = new Cut();
      const worktree = open(disk);
      const changes = [{ path: parsePath("a"), before: await entry(worktree, "a"), after }];
      disk.act = () => fs.writeFileSync(join(root, "a"), "at the last moment");
      await expect(apply(worktree, changes, { onBlocked: "skip" })).rejects.toThrow("no space");
      disk.isCut = false;
      const report = await apply(open(disk), changes, { onBlocked: "skip", resume: true });
      expect(report).toMatchObject({ applied: [], blocked: [{ path: "a", reason: "changed" }], conflicts: [] });
      expect(fs.readFileSync(join(root, "a"), "utf8")).toBe("at the last moment");
      expect(fs.readdirSync(root)).toEqual(["a"]);
    },
  );

  test("a failure half-way is rolled back if nothing may be skipped", async () => {
    fs.writeFileSync(join(root, "a"), "old a");
    fs.mkdirSync(join(root, "dir"));
    const disk = new Intruder();
    const worktree = open(disk);
    const dirEntry = await entry(worktree, "dir");
    const a = parsePath("a");
    const fresh = parsePath("fresh");
    const madeDir = parsePath("made");
    const changes: Change[] = [
      { path: a, before: await entry(worktree, "a"), after: fileEntry(a, "new a") },
      { path: fresh, before: undefined, after: fileEntry(fresh, "fresh") },
      { path: madeDir, before: undefined, after: { ...dirEntry, path: madeDir } },
      { path: parsePath("dir"), before: dirEntry, after: undefined },
    ];
    disk.act = () => fs.writeFileSync(join(root, "fresh"), "s");
    const report = await apply(worktree, changes);
    expect(report).toMatchObject({ applied: [], blocked: [{ path: "fresh", reason: "changed" }] });
    expect(fs.readFileSync(join(root, "a"), "utf8")).toBe("old a");
    expect(fs.readFileSync(join(root, "fresh"), "utf8")).toBe("s");
    expect(fs.readdirSync(root).sort()).toEqual(["a", "dir", "fresh"]);
  });

  test("a file that may not be changed is found before anything is", async ({ skip }) => {
    fs.writeFileSync(join(root, "a"), "1");
    fs.writeFileSync(join(root, "z"), "1");
    if (spawnSync("chattr", ["+i", join(root, "z")]).status !== 0) skip("no immutable files here");
    try {
      const worktree = open();
      const changes: Change[] = [];
      for (const name of ["a", "z"]) {
        const path = parsePath(name);
        changes.push({ path, before: await entry(worktree, name), after: fileEntry(path, "2") });
      }
      expect(await apply(worktree, changes)).toMatchObject({
        applied: [],
        blocked: [{ path: "z", reason: "not-permitted" }],
      });
      expect(fs.readFileSync(join(root, "a"), "utf8")).toBe("1");
    } finally {
      spawnSync("chattr", ["-i", join(root, "z")]);
    }
  });

  test("a content shared by several paths, small or large, is written to each", async () => {
    const worktree = open();
    const big = Buffer.alloc(9 * 1024 * 1024, "large content ");
    const changes = ["s1", "s2", "b1", "b2"].map((name): Change => {
      const path = parsePath(name);
      return { path, before: undefined, after: fileEntry(path, name.startsWith("s") ? "small" : big) };
    });
    expect(await apply(worktree, changes)).toMatchObject({ blocked: [] });
    expect(fs.readFileSync(join(root, "s2"), "utf8")).toBe("small");
    expect(fs.readFileSync(join(root, "b1")).equals(big)).toBe(true);
    expect(fs.readFileSync(join(root, "b2")).equals(big)).toBe(true);
  });
});

describe("while somebody keeps exchanging a folder with a link to elsewhere", () => {
  test("nothing is ever read or written outside", async () => {
    const outside = join(base, "outside");
    fs.mkdirSync(outside);
    fs.writeFileSync(join(outside, "secret"), "secret");
    fs.mkdirSync(join(root, "dir"));
    fs.symlinkSync(outside, join(root, "link"));
    const worker = new Worker(
      `const fs = require("node:fs"); const { workerData: root } = require("node:worker_threads");
       for (;;) { try { fs.renameSync(root + "/dir", root + "/real"); fs.renameSync(root + "/link", root + "/dir");
         fs.renameSync(root + "/dir", root + "/link"); fs.renameSync(root + "/real", root + "/dir"); } catch {} }`,
      { eval: true, workerData: root },
    );
    const worktree = open();
    let written = 0;
    const end = performance.now() + 1500;
    for (let n = 0; performance.now() < end; n += 1) {
      const path = parsePath(`dir/f${n}`);
      const change = { path, before: undefined, after: fileEntry(path, "x") };
      const report = await apply(worktree, [change], { onBlocked: "skip", token: `T${n}` });
      written += report.applied.length;
      const { changed } = await scan(worktree);
      expect(changed.filter((one) => one.endsWith("/secret"))).toEqual([]);
      expect(await worktree.inspect(parsePath("dir/secret"))).toBeUndefined();
    }
    await worker.terminate();
    expect(fs.readdirSync(outside)).toEqual(["secret"]);
    expect(written).toBeGreaterThan(0);
  });
});
