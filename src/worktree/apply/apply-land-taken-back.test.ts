import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Entry } from "../../core/values/entry.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { sha256 } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import type { DiskPath } from "../../disk/disk.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";
import type { ApplyReport } from "../worktree.ts";

/** If an apply is taken back, files that somebody has put in the place of its files meanwhile are left alone. */

const OLD = "old";
const NEW = "new";
const NEW_MODE = 0o755;
/** A content that has the same length as the new content. */
const THEIRS = "his";

let base: string;

const at = (name: string): string => join(base, "root", name);

beforeEach(() => {
  base = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "taken-back-")));
  for (const name of ["root", "store"]) fs.mkdirSync(join(base, name));
});

afterEach(() => fs.rmSync(base, { recursive: true, force: true }));

/** A disk that calls `act` as soon as the path `a` has its new file or its new mode. */
class Meddled extends NodeDisk {
  act: (() => void) | undefined;

  override link(from: DiskPath, to: DiskPath): void {
    super.link(from, to);
    this.#named(to);
  }

  override rename(from: DiskPath, to: DiskPath): void {
    super.rename(from, to);
    this.#named(to);
  }

  override chmod(fd: number, mode: number): void {
    super.chmod(fd, mode);
    if (mode === NEW_MODE) this.#act();
  }

  #named(to: DiskPath): void {
    if (String(to).endsWith("/a")) this.#act();
  }

  #act(): void {
    const { act } = this;
    this.act = undefined;
    act?.();
  }
}

function entry(path: string, content: string, mode = 0o644): Entry {
  return { path: parsePath(path), kind: "file", mode, size: content.length, mtimeMs: 0, hash: sha256(content) };
}

function link(path: string, target: string): Entry {
  return { path: parsePath(path), kind: "symlink", mode: 0o777, size: 3, mtimeMs: 0, hash: sha256(target) };
}

interface Tried {
  readonly before?: Entry | undefined;
  readonly after: Entry;
}

/**
 * Applies a change of `a` and a new file `b`. After the change of `a`, calls `meanwhile` and makes `b`. Therefore, the
 * apply cannot make `b`, and takes the change of `a` back.
 */
async function takenBack({ before, after }: Tried, meanwhile: () => void): Promise<ApplyReport> {
  const disk = new Meddled();
  const worktree = new DiskWorktree({
    disk,
    roots: [{ id: undefined, folder: join(base, "root"), filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
    cacheFile: join(base, "store", "stat.cache"),
    staging: undefined,
    storeFolders: [join(base, "store")],
    clock: Date.now,
  });
  disk.act = () => {
    meanwhile();
    fs.writeFileSync(at("b"), "in the way");
  };
  const report = await worktree.apply({
    token: "01TAKENBACK",
    changes: [
      { path: parsePath("a"), before, after },
      { path: parsePath("b"), before: undefined, after: entry("b", NEW) },
    ],
    onBlocked: "fail",
    async *contents(hashes) {
      async function* pieces(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(NEW);
      }
      for (const hash of hashes) yield [hash, { size: NEW.length, pieces }] as const;
    },
  });
  await worktree.close();
  return report;
}

function replaceA(content: string, mode = 0o644): void {
  fs.writeFileSync(at("theirs"), content, { mode });
  fs.renameSync(at("theirs"), at("a"));
}

describe("An apply that is taken back", () => {
  it("removes what it made, and puts back what it replaced", async () => {
    expect(await takenBack({ after: entry("a", NEW) }, () => undefined)).toMatchObject({ applied: [] });
    expect(fs.readdirSync(at(""))).toEqual(["b"]);
    fs.rmSync(at("b"));
    expect(await takenBack({ after: link("a", NEW) }, () => undefined)).toMatchObject({ applied: [] });
    expect(fs.readdirSync(at(""))).toEqual(["b"]);
    fs.rmSync(at("b"));
    fs.writeFileSync(at("a"), OLD, { mode: 0o644 });
    await takenBack({ before: entry("a", OLD), after: entry("a", NEW) }, () => undefined);
    expect(fs.readFileSync(at("a"), "utf8")).toBe(OLD);
    fs.rmSync(at("b"));
    await takenBack({ before: entry("a", OLD), after: entry("a", OLD, NEW_MODE) }, () => undefined);
    expect(fs.statSync(at("a")).mode & 0o777).toBe(0o644);
  });

  it.each([
    ["file", () => replaceA(THEIRS), (stat: fs.Stats) => stat.isFile()],
    ["link", () => fs.symlinkSync(THEIRS, at("a")), (stat: fs.Stats) => stat.isSymbolicLink()],
    ["pipe", () => execFileSync("mkfifo", [at("a")]), (stat: fs.Stats) => stat.isFIFO()],
    ["folder", () => fs.mkdirSync(at("a")), (stat: fs.Stats) => stat.isDirectory()],
  ])("leaves a %s that somebody has put in the place of a new file", async (_kind, put, isTheirs) => {
    const report = await takenBack({ after: entry("a", NEW) }, () => {
      fs.rmSync(at("a"));
      put();
    });
    expect(report.applied).toEqual([]);
    expect(isTheirs(fs.lstatSync(at("a")))).toBe(true);
  });

  it("leaves a link that somebody has put in the place of a new link", async () => {
    await takenBack({ after: link("a", NEW) }, () => {
      fs.rmSync(at("a"));
      fs.symlinkSync(THEIRS, at("a"));
    });
    expect(fs.readlinkSync(at("a"))).toBe(THEIRS);
  });

  it("leaves a new file that somebody has written into at once, even if its size is that of the new content", async () => {
    await takenBack({ after: entry("a", NEW) }, () => fs.writeFileSync(at("a"), THEIRS));
    expect(fs.readFileSync(at("a"), "utf8")).toBe(THEIRS);
  });

  it.each([
    ["replaced by a rename", () => replaceA(THEIRS)],
    ["written in place", () => fs.writeFileSync(at("a"), THEIRS)],
  ])("leaves a file that somebody has %s after the apply replaced it", async (_how, save) => {
    fs.writeFileSync(at("a"), OLD, { mode: 0o644 });
    await takenBack({ before: entry("a", OLD), after: entry("a", NEW) }, save);
    expect(fs.readFileSync(at("a"), "utf8")).toBe(THEIRS);
  });

  it("leaves the mode of a file that has replaced the file whose mode the apply set", async () => {
    fs.writeFileSync(at("a"), OLD, { mode: 0o644 });
    const changed = { before: entry("a", OLD), after: entry("a", OLD, NEW_MODE) };
    await takenBack(changed, () => replaceA(THEIRS, 0o600));
    expect(fs.statSync(at("a")).mode & 0o777).toBe(0o600);
  });
});
