import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { GitFolder } from "../../core/records/git-record.ts";
import { type Hash, sha256 } from "../../core/values/hash.ts";
import { childOf, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import type { DiskPath, FolderItem } from "../../disk/disk.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { NotingFs } from "./seen-paths.ts";
import { collectKept, keptObjects, KeptFolders } from "./kept-folders.ts";
import { isLost } from "./lost-folder.ts";

/** A disk that counts the links that are made. */
class LinkedDisk extends NodeDisk {
  links = 0;

  override link(from: DiskPath, to: DiskPath): void {
    this.links += 1;
    super.link(from, to);
  }
}

const disk = new LinkedDisk();
const path = childOf(ROOT, ".git");
const PACK = `objects/pack/pack-${"a".repeat(40)}.pack`;
const LOOSE = `objects/ab/${"c".repeat(38)}`;
let base = "";
let git = "";
let place = "";

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-kept-folders-")));
  git = join(base, "repo/.git");
  place = join(base, "kept");
  for (const [name, text] of [
    ["HEAD", "ref: refs/heads/main\n"],
    ["config", "[core]\n"],
    ["hooks/pre-commit", "#!/bin/sh\n"],
    [PACK, "PACK"],
    [LOOSE, "loose"],
  ] as const) {
    put(name, text);
  }
  for (const folder of ["refs/heads", "refs/tags"]) mkdirSync(join(git, folder), { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true }));

function put(name: string, text: string): void {
  mkdirSync(dirname(join(git, name)), { recursive: true });
  writeFileSync(join(git, name), text);
}

interface Wish {
  readonly into?: string;
  readonly isIdle?: boolean;
  readonly erased?: string;
}

/** Everything but what the tests are about. */
const COMMON = { disk, isForgotten: false, erased: new Set<Hash>() };

/** Keeps the git folder. `puts` counts the contents that were read for it. */
async function keep({ into = place, isIdle = true, erased = "" }: Wish = {}): Promise<
  GitFolder & { readonly puts: number }
> {
  let puts = 0;
  const later = BigInt(Date.now() + 10_000) * 1_000_000n;
  const idle = async (): Promise<boolean> => isIdle;
  const folders = new KeptFolders({
    ...COMMON,
    place: into,
    nowNs: () => later,
    isIdle: idle,
    erased: new Set([sha256(Buffer.from(erased))]),
  });
  using own = new NotingFs(disk, git);
  const kept = await folders.keep(
    path,
    { own, common: own, hashBytes: 20, isBare: false, isReftable: false },
    async (content) => {
      puts += 1;
      return sha256(content);
    },
  );
  await folders.drop();
  return { ...kept, puts };
}

/** The names of the kept objects. */
function kept(into = place): string[] {
  const root = keptObjects(disk, into, path)?.root;
  if (root === undefined) return [];
  return readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    lstatSync(join(root, name)).isFile(),
  );
}

describe("git folders that are kept beforehand", () => {
  it("have their objects linked and their small files read, and nothing of it again while nothing changes", async () => {
    const first = await keep();
    expect(first.problem).toBeUndefined();
    expect(first.puts).toBe(2);
    expect(first.items.map(({ name }) => name)).toEqual(expect.arrayContaining(["config", "hooks/pre-commit", "refs"]));
    expect(kept().toSorted()).toEqual([LOOSE, PACK].toSorted());
    expect([PACK, LOOSE].map((name) => statSync(join(git, name)).nlink)).toEqual([2, 2]);
    expect(await keep()).toMatchObject({ puts: 0, items: first.items });
  });

  it("give up links that the repository no longer has, but not while other work may need them", async () => {
    await keep();
    rmSync(join(git, LOOSE));
    const packed = PACK.replace(/a{40}/, "b".repeat(40));
    put(packed, "PACK 2");
    rmSync(join(git, PACK));
    await keep({ isIdle: false });
    expect(kept().toSorted()).toEqual([LOOSE, PACK, packed].toSorted());
    await keep();
    expect(kept()).toEqual([packed]);
  });

  it.each(["reftable", "worktrees/w/reftable"])(
    "have all tables of %s, also if git joins them meanwhile",
    async (tables) => {
      const join = (from: string, to: string): void => {
        put(`${tables}/${to}.ref`, to);
        put(`${tables}/tables.list.new`, `${to}.ref\n`);
        renameSync(`${git}/${tables}/tables.list.new`, `${git}/${tables}/tables.list`);
        rmSync(`${git}/${tables}/${from}.ref`, { force: true });
      };
      for (const joins of [1, 3, 100]) {
        let times = 0;
        join("none", "0");
        using own = new NotingFs(disk, git);
        const folders = new KeptFolders({ ...COMMON, place, nowNs: () => 0n, isIdle: async () => true });
        const pair = { own, common: own, hashBytes: 20, isBare: false, isReftable: true } as const;
        const { items } = await folders.keep(path, pair, async (content) => {
          if (times < joins) join(`${times}`, `${(times += 1)}`);
          return sha256(content);
        });
        const names = items.filter(({ kind, name }) => kind === "file" && name.startsWith(`${tables}/`));
        // With no end of it, the walk gives up, and `lostFolder` says so.
        if (joins === 100) expect(times).toBeLessThan(joins);
        else expect(names.map(({ name }) => name)).toEqual([`${tables}/${joins}.ref`, `${tables}/tables.list`]);
        rmSync(`${git}/${tables}`, { recursive: true });
      }
    },
  );

  it("are given up with their repository", async () => {
    await keep();
    const folders = new KeptFolders({ ...COMMON, place, nowNs: () => 0n, isIdle: async () => true });
    await folders.drop();
    expect(readdirSync(place)).toEqual([]);
  });

  it("follow a file that is replaced under the same name, such as objects/info/alternates", async () => {
    put("objects/info/alternates", "/one\n");
    await keep();
    put("objects/info/new", "/two/longer\n");
    renameSync(join(git, "objects/info/new"), join(git, "objects/info/alternates"));
    await keep();
    const root = keptObjects(disk, place, path)?.root ?? "";
    expect(statSync(join(root, "objects/info/alternates")).ino).toBe(
      statSync(join(git, "objects/info/alternates")).ino,
    );
  });

  it("are lost if they are gone or replaced, but not if that is not known, or if git has packed them anew", async () => {
    const folder = await keep();
    const lost = (of: GitFolder = folder): boolean =>
      isLost({ disk, gitDir: git, folder: of, kept: keptObjects(disk, place, path) });
    expect(lost()).toBe(false);
    rmSync(join(git, PACK));
    expect(lost()).toBe(true);
    put(PACK.replace(/a{40}/, "b".repeat(40)), "PACK 2");
    expect(lost()).toBe(false);
    renameSync(join(git, "objects"), join(git, "old"));
    expect(lost()).toBe(true);
    put(PACK, "PACK");
    expect([lost(), lost({ ...folder, objects: "" })]).toEqual([true, false]);
    rmSync(join(git, "HEAD"));
    expect(lost({ ...folder, objects: "" })).toBe(true);
  });

  it("are not lost if only their inodes are others, or if links of an earlier repository are left", async () => {
    const lost = (of: GitFolder): boolean =>
      isLost({ disk, gitDir: git, folder: of, kept: keptObjects(disk, place, path) });
    expect(lost({ ...(await keep()), objects: "1 2 3" })).toBe(false);
    rmSync(join(git, "objects"), { recursive: true });
    put(LOOSE.replace(/c{38}/, "d".repeat(38)), "another");
    const next = await keep({ isIdle: false });
    expect(kept()).toContain(PACK);
    expect(lost(next)).toBe(false);
    rmSync(join(git, "objects"), { recursive: true });
    mkdirSync(join(git, "objects"));
    expect(lost(next)).toBe(true);
  });

  it.each([
    [
      "a pack that is a link",
      "no regular file",
      () => symlinkSync("/etc/passwd", join(git, `objects/pack/pack-${"d".repeat(40)}.pack`)),
    ],
    [
      "a pack that is a pipe",
      "no regular file",
      () => spawnSync("mkfifo", [join(git, `objects/pack/pack-${"d".repeat(40)}.pack`)]),
    ],
    [
      "a folder of objects that is a link",
      "in another folder",
      () => {
        renameSync(join(git, "objects"), join(base, "elsewhere"));
        symlinkSync(join(base, "elsewhere"), join(git, "objects"));
      },
    ],
  ])("are not kept with %s, which is not followed", async (_, problem, spoil) => {
    spoil();
    expect((await keep()).problem).toContain(problem);
    expect(kept().filter((name) => name.includes("d".repeat(40)))).toEqual([]);
    for (const name of kept()) expect(statSync(join(git, name)).nlink).toBe(2);
  });

  it.each([
    [
      "are too large",
      () => spawnSync("truncate", ["-s", "8M", ...[..."abcdefghi"].map((name) => join(git, `z${name}`))]),
    ],
    ["is too large", () => spawnSync("truncate", ["-s", "9M", join(git, "zz")])],
  ])("are not kept at all with too much beside the objects: %s", async (problem, spoil) => {
    await keep();
    put("hooks/other", "new");
    spoil();
    const found = await keep();
    expect(found.problem).toContain(problem);
    expect(found).toMatchObject({ puts: 0, items: [] });
    expect(kept()).toEqual([]);
  });

  it("follow also an object whose file is another one now, but not while other work may need the first one", async () => {
    await keep();
    const ino = (folder = ""): bigint => statSync(join(folder, PACK), { bigint: true }).ino;
    const root = keptObjects(disk, place, path)?.root ?? "";
    const old = ino(git);
    put(`${PACK}.copy`, "PACK");
    renameSync(join(git, `${PACK}.copy`), join(git, PACK));
    await keep({ isIdle: false });
    expect([ino(root) === old, ino(git) === old]).toEqual([true, false]);
    await keep();
    expect(ino(root)).toBe(ino(git));
    expect(kept().toSorted()).toEqual([LOOSE, PACK].toSorted());
  });

  it("are kept without files whose content was erased", async () => {
    const names = async (wish: Wish): Promise<string[]> => (await keep(wish)).items.map(({ name }) => name);
    expect(await names({ erased: "[core]\n" })).not.toContain("config");
    expect(await names({})).toContain("config");
    expect(await names({ erased: "[core]\n" })).not.toContain("config");
    expect(await names({})).toContain("config");
  });

  it("are given up whole if a part cannot be kept, and tried again once the repository has changed", async () => {
    await keep();
    const spoiled = join(git, `objects/pack/pack-${"d".repeat(40)}.pack`);
    symlinkSync("/etc/passwd", spoiled);
    put("objects/ff/x", "new");
    expect((await keep({ isIdle: false })).problem).toContain("no regular file");
    expect(kept()).toEqual(expect.arrayContaining([LOOSE, PACK]));
    const before = disk.links;
    expect((await keep({ isIdle: false })).problem).toContain("no regular file");
    expect((await keep()).problem).toContain("no regular file");
    expect([kept(), disk.links]).toEqual([[], before]);
    rmSync(spoiled);
    expect((await keep()).problem).toBeUndefined();
    expect(kept().toSorted()).toEqual([LOOSE, PACK, "objects/ff/x"].toSorted());
  });

  it.skipIf(!isOther("/dev/shm"))("are copied to another file system if they are small, and else named", async () => {
    const shm = mkdtempSync("/dev/shm/chronicle-kept-");
    try {
      expect((await keep({ into: join(shm, "a") })).problem).toBeUndefined();
      expect(kept(join(shm, "a")).toSorted()).toEqual([LOOSE, PACK].toSorted());
      expect(statSync(join(git, PACK)).nlink).toBe(1);
      spawnSync("truncate", ["-s", "65M", join(git, PACK)]);
      expect((await keep({ into: join(shm, "b") })).problem).toContain("another file system");
      spawnSync("truncate", ["-s", "40M", join(git, PACK)]);
      put("lfs/objects/ab/file", "");
      spawnSync("truncate", ["-s", "40M", join(git, "lfs/objects/ab/file")]);
      expect((await keep({ into: join(shm, "c") })).problem).toContain("another file system");
    } finally {
      rmSync(shm, { recursive: true });
    }
  });
});

const HOUR_MS = 3_600_000;

/** A disk that refuses to list one folder. */
class ClosedDisk extends NodeDisk {
  closed = "";

  override list(folder: DiskPath): FolderItem[] {
    if (this.closed !== "" && folder.toString().startsWith(this.closed)) {
      throw Object.assign(new Error("EACCES"), { code: "EACCES" });
    }
    return super.list(folder);
  }
}

describe("gc of git folders that are kept beforehand", () => {
  const one = childOf(ROOT, "one");

  /** Keeps the git folder as that of another repository. */
  async function keepAs(as: WorkspacePath): Promise<GitFolder> {
    const folders = new KeptFolders({ ...COMMON, place, nowNs: () => 0n, isIdle: async () => true });
    using own = new NotingFs(disk, git);
    const pair = { own, common: own, hashBytes: 20, isBare: false, isReftable: false } as const;
    return await folders.keep(as, pair, async (content) => sha256(content));
  }

  /** `asked` is called each time when the log is asked whether nobody is at work. */
  function collected(
    asked: (time: number) => boolean | Promise<boolean> = () => true,
    { hours = 48, on = disk as NodeDisk } = {},
  ): Promise<number> {
    let times = 0;
    const nowNs = (): bigint => BigInt(Date.now() + hours * HOUR_MS) * 1_000_000n;
    const isIdle = async (): Promise<boolean> => asked((times += 1));
    return collectKept({ disk: on, place, isIdle, nowNs }, (of) => (of === one ? join(base, "one/.git") : git));
  }

  const note = (): string => join(place, readdirSync(place)[0] ?? "", "note.json");
  const all = [LOOSE, PACK].toSorted();

  it("removes those without a repository, but not if work begins before they are removed", async () => {
    await keep();
    renameSync(git, `${git}.away`);
    expect(await collected((time) => time === 1)).toBe(0);
    expect([kept().toSorted(), readdirSync(place).length]).toEqual([all, 1]);
    rmSync(`${git}.away`, { recursive: true });
    const bytes = "PACKloose".length + statSync(note()).size;
    expect(await collected()).toBe(bytes);
    expect(readdirSync(place)).toEqual([]);
  });

  it("leaves one whose repository is made while the log is read", async () => {
    await keep();
    renameSync(git, `${git}.away`);
    await collected((time) => {
      if (time === 1) renameSync(`${git}.away`, git);
      return true;
    });
    expect([kept().toSorted(), readdirSync(place).length]).toEqual([all, 1]);
  });

  it("gives back what it has put aside to work that has kept the repository anew meanwhile", async () => {
    await keep();
    renameSync(git, `${git}.away`);
    await collected(async (time) => {
      if (time === 1) return true;
      renameSync(`${git}.away`, git);
      rmSync(join(git, PACK));
      await keepAs(path);
      return false;
    });
    expect([kept().toSorted(), readdirSync(place).length]).toEqual([all, 1]);
  });

  it("leaves one without a path for a day, and longer once work has noted the path", async () => {
    await keep();
    const withPath = JSON.parse(readFileSync(note(), "utf8")) as object;
    const forget = (): void => writeFileSync(note(), JSON.stringify({ ...withPath, path: undefined }));
    forget();
    expect(await collected(() => true, { hours: 2 })).toBe(0);
    expect(kept().toSorted()).toEqual(all);
    await collected(async (time) => {
      if (time === 1) await keepAs(path);
      return true;
    });
    expect(kept().toSorted()).toEqual(all);
    forget();
    await collected();
    expect(readdirSync(place)).toEqual([]);
  });

  it("finds the path in the note as soon as work looks at the repository", async () => {
    using own = new NotingFs(disk, git);
    const folders = new KeptFolders({ ...COMMON, place, nowNs: () => 0n, isIdle: async () => true });
    const pair = { own, common: own, hashBytes: 20, isBare: false, isReftable: false } as const;
    const noted: string[] = [];
    await folders.keep(path, pair, async (content) => {
      noted.push(readFileSync(note(), "utf8"));
      return sha256(content);
    });
    expect(noted.map((one) => (JSON.parse(one) as { path: string }).path)).toEqual([path, path]);
  });

  it("leaves objects that the repository no longer has for an hour", async () => {
    await keep();
    rmSync(join(git, LOOSE));
    expect(await collected(() => true, { hours: 0.5 })).toBe(0);
    // The note alone is young, and then the folder alone is.
    const root = keptObjects(disk, place, path)?.root ?? "";
    const [old, now] = [new Date(Date.now() - 2 * HOUR_MS), new Date()];
    const folder = dirname(join(root, LOOSE));
    for (const [young, other] of [
      [note(), folder],
      [folder, note()],
    ] as const) {
      utimesSync(young, now, now);
      utimesSync(other, old, old);
      expect(await collected(() => true, { hours: 0.5 })).toBe(0);
    }
    expect(kept().toSorted()).toEqual(all);
    expect(await collected(() => true, { hours: 2 })).toBe("loose".length);
    expect(kept()).toEqual([PACK]);
  });

  it("looks at the others if one repository cannot be read", async () => {
    await keep();
    mkdirSync(join(base, "one/.git"), { recursive: true });
    await keepAs(one);
    rmSync(join(base, "one"), { recursive: true });
    const on = new ClosedDisk();
    on.closed = git;
    expect(await collected(() => true, { on })).toBeGreaterThan(0);
    expect([kept().toSorted(), readdirSync(place).length]).toEqual([all, 1]);
  });

  it("removes what a killed gc had begun to remove, and gives back what it had only put aside", async () => {
    await keep();
    const [name = ""] = readdirSync(place);
    renameSync(join(place, name), join(place, `${name}.gone`));
    mkdirSync(join(place, "0123456789abcdef.gone/files"), { recursive: true });
    await collected();
    expect([kept().toSorted(), readdirSync(place)]).toEqual([all, [name]]);
    expect(existsSync(note())).toBe(false);
    await keep();
    expect(kept().toSorted()).toEqual(all);
  });
});

function isOther(folder: string): boolean {
  return existsSync(folder) && statSync(folder).dev !== statSync(realpathSync(tmpdir())).dev;
}
