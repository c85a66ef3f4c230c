import { describe, expect, it } from "vitest";
import type { Change, Entry } from "../../core/values/entry.ts";
import { DEFAULT_LIMITS, EVERYTHING } from "../../core/filter/filter.ts";
import { explainPath } from "../../core/filter/ignore.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { childOf, comparePaths, parentOf, parsePath, type WorkspacePath } from "../../core/values/path.ts";
import { HostedWorktree } from "./hosted-worktree.ts";
import type { RecordedFiles } from "./recorded-files.ts";
import type { ApplyReport, ApplyRequest } from "../worktree.ts";

const at = (path: string): WorkspacePath => parsePath(path);

function file(path: string, text: string, mode = 0o644): Entry {
  return { path: at(path), kind: "file", mode, size: text.length, mtimeMs: 5, hash: sha256(Buffer.from(text)) };
}

function folder(path: string): Entry {
  return { path: at(path), kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined };
}

/** A record in memory. It commits the changes that an apply allows. */
class Record implements RecordedFiles {
  readonly paths = new Map<WorkspacePath, Entry>();
  readonly contents = new Map<Hash, Buffer>();

  constructor(...entries: readonly Entry[]) {
    for (const entry of entries) this.paths.set(entry.path, entry);
    for (const text of ["one", "two", "three"]) this.contents.set(sha256(Buffer.from(text)), Buffer.from(text));
  }

  async entries(paths: readonly WorkspacePath[]): Promise<readonly (Entry | undefined)[]> {
    return paths.map((path) => this.paths.get(path));
  }

  async children(of: WorkspacePath): Promise<readonly WorkspacePath[]> {
    return [...this.paths.keys()].filter((path) => parentOf(path) === of).sort(comparePaths);
  }

  async tally(): Promise<{ entries: number; bytes: number }> {
    return { entries: this.paths.size, bytes: [...this.paths.values()].reduce((sum, { size }) => sum + size, 0) };
  }

  async stored(hashes: readonly Hash[]): Promise<ReadonlySet<Hash>> {
    return new Set(hashes.filter((hash) => this.contents.has(hash)));
  }

  async content(hash: Hash): Promise<Buffer | undefined> {
    return this.contents.get(hash);
  }

  change(path: string, after: Entry | undefined): Change {
    return { path: at(path), before: this.paths.get(at(path)), after };
  }
}

function worktreeOf(record: Record): HostedWorktree {
  const root = { id: undefined, folder: "", filter: EVERYTHING, limits: DEFAULT_LIMITS };
  return new HostedWorktree({ roots: [root], files: record, clock: () => 1_000 });
}

function apply(record: Record, changes: readonly Change[], how: Partial<ApplyRequest> = {}): Promise<ApplyReport> {
  const contents = async function* (): AsyncGenerator<never> {};
  return worktreeOf(record).apply({ token: "t", changes, contents, onBlocked: "fail", ...how });
}

/** Returns the blocked paths with their reasons, in order. */
const reasons = ({ blocked }: ApplyReport): (readonly [string, string])[] =>
  blocked.toSorted((a, b) => comparePaths(a.path, b.path)).map((one) => [one.path as string, one.reason] as const);

describe("a hosted worktree", () => {
  const record = new Record(folder("a"), file("a/b", "one"), file("c", "two"));

  it("a scan finds no changes, and its filter excludes nothing", async () => {
    const seen: unknown[] = [];
    const report = await worktreeOf(record).scan();
    expect(seen).toEqual([]);
    expect(report).toMatchObject({ remembered: true, gone: [], omitted: [], exceeded: [], entries: 3, bytes: 6 });
    const [filter] = report.filters;
    for (const path of [".git", ".git/config", "sub/.git/x", "node_modules/x", ".gitignore"]) {
      expect(filter === undefined || explainPath(filter, path, false).tracked).toBe(true);
    }
    expect(await worktreeOf(record).explain()).toEqual({ tracked: true, rule: "default" });
  });

  it("inspects and reads the recorded files, except very large ones", async () => {
    const worktree = worktreeOf(record);
    expect(await worktree.inspect(at("a/b"))).toEqual(file("a/b", "one"));
    expect(await worktree.inspect(at("x"))).toBeUndefined();
    expect(String(await worktree.read(at("a/b")))).toBe("one");
    expect(await worktree.read(at("a"))).toBeUndefined();
    const large = { ...file("big", "one"), size: 9 * 1024 * 1024 };
    expect(await worktreeOf(new Record(large)).read(at("big"))).toBeUndefined();
  });

  it("its watch is never degraded and always settled", async () => {
    const handle = await worktreeOf(record).watch();
    expect(handle.degraded).toBe(false);
    expect(await handle.settled()).toBe(true);
  });
});

describe("an apply to a hosted worktree", () => {
  it("applies a change as a whole: new folders, removed files, changed kinds", async () => {
    const record = new Record(folder("a"), file("a/b", "one"), file("c", "two"));
    const changes = [
      record.change("a/b", undefined),
      record.change("a", file("a", "three")),
      record.change("c", folder("c")),
      record.change("c/d", folder("c/d")),
      record.change("c/d/e", file("c/d/e", "one")),
    ];
    const report = await apply(record, changes);
    expect(report.blocked).toEqual([]);
    expect([...report.applied].sort()).toEqual(["a", "a/b", "c", "c/d", "c/d/e"]);
  });

  it("is blocked by paths that somebody has written meanwhile", async () => {
    const record = new Record(file("a", "one"), file("b", "two"));
    const changes = [
      { path: at("a"), before: file("a", "two"), after: file("a", "three") },
      record.change("b", undefined),
      { path: at("new"), before: file("new", "one"), after: file("new", "two") },
    ];
    expect(await apply(record, changes)).toMatchObject({ applied: [], conflicts: [] });
    const skipping = await apply(record, changes, { onBlocked: "skip" });
    expect(skipping.applied).toEqual(["b"]);
    expect(reasons(skipping)).toEqual([
      ["a", "changed"],
      ["new", "changed"],
    ]);
  });

  it("resumes an interrupted one: absent paths and finished changes are applied, others are blocked", async () => {
    const record = new Record(file("done", "two"), file("other", "three"));
    const change = (path: string): Change => ({ path: at(path), before: file(path, "one"), after: file(path, "two") });
    const all = [change("done"), change("absent"), change("other")];
    const report = await apply(record, all, { onBlocked: "skip", resume: true });
    expect([...report.applied].sort()).toEqual(["absent", "done"]);
    expect(reasons(report)).toEqual([["other", "changed"]]);
    expect(reasons(await apply(record, all, { onBlocked: "skip" }))).toHaveLength(3);
  });

  it("is blocked by a content that is not in the store", async () => {
    const record = new Record();
    const report = await apply(record, [record.change("a", file("a", "never kept"))]);
    expect(report).toMatchObject({ applied: [], blocked: [{ path: "a", reason: "content-missing" }] });
  });

  it("blocks paths whose folder is missing, no folder, or about to be removed", async () => {
    const record = new Record(file("f", "one"), folder("gone"));
    const changes = [
      record.change("x/y", file("x/y", "one")),
      record.change("f/y", file("f/y", "one")),
      record.change("gone", undefined),
      record.change("gone/z", file("gone/z", "one")),
    ];
    const report = await apply(record, changes, { onBlocked: "skip" });
    expect(report.applied).toEqual(["gone"]);
    expect(reasons(report)).toEqual([
      ["f/y", "no-folder"],
      ["gone/z", "no-folder"],
      ["x/y", "no-folder"],
    ]);
  });

  it("neither removes nor replaces a folder in which something stays", async () => {
    const record = new Record(folder("a"), folder("a/b"), file("a/b/c", "one"), file("a/b/d", "two"));
    const gone = ["a", "a/b", "a/b/c"].map((path) => record.change(path, undefined));
    const report = await apply(record, gone);
    // As on a disk, a folder that has to stay does not block the other changes.
    expect(report.applied).toEqual(["a/b/c"]);
    expect(reasons(report)).toEqual([
      ["a", "not-empty"],
      ["a/b", "not-empty"],
    ]);
    const replaced = [record.change("a", file("a", "three")), record.change("a/b/c", undefined)];
    expect(await apply(record, replaced)).toMatchObject({ applied: [] });
    const blocked = [record.change("a/b/d", undefined), { path: at("a/b/c"), before: undefined, after: undefined }];
    expect(reasons(await apply(record, [...blocked, record.change("a/b", file("a/b", "one"))]))).toEqual([
      ["a/b", "not-empty"],
      ["a/b/c", "changed"],
    ]);
  });

  it("blocks every path beneath a blocked one, at any depth", async () => {
    const record = new Record(file("a", "one"));
    const changes = [
      { path: at("a"), before: file("a", "two"), after: folder("a") },
      { path: at("a/b"), before: undefined, after: folder("a/b") },
      { path: childOf(at("a/b"), "c"), before: undefined, after: file("a/b/c", "one") },
    ];
    const report = await apply(record, changes, { onBlocked: "skip" });
    expect(report.applied).toEqual([]);
    expect(reasons(report)).toEqual([
      ["a", "changed"],
      ["a/b", "changed"],
      ["a/b/c", "changed"],
    ]);
  });
});
