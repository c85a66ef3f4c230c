import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Change, Entry } from "../../core/values/entry.ts";
import { DEFAULT_FILTER, DEFAULT_LIMITS } from "../../core/filter/filter.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { parsePath } from "../../core/values/path.ts";
import { NodeDisk } from "../../disk/node-disk.ts";
import { DiskWorktree } from "../disk/disk-worktree.ts";
import type { ApplyReport, ContentReader } from "../worktree.ts";

/** Paths that change together: if somebody writes one of them while the others are staged, none of them is changed. */

const PATHS = ["live.db", "live.db-journal", "live.db-wal"];
const CONTENTS = ["old", "new", "own"];

function entry(path: string, content: string): Entry {
  return { path: parsePath(path), kind: "file", mode: 0o644, size: content.length, mtimeMs: 0, hash: sha256(content) };
}

function readerOf(hash: Hash): ContentReader {
  const bytes = Buffer.from(CONTENTS.find((one) => sha256(one) === hash) ?? "");
  return {
    size: bytes.length,
    async *pieces() {
      yield bytes;
    },
  };
}

/** A modification time in the future: a file that has it may have been written once more without a visible change. */
const LATER = new Date(Date.now() + 3_600_000);

interface Tried {
  readonly report: ApplyReport;
  readonly files: Readonly<Record<string, string>>;
}

/** Applies new contents of `live.db` and `other`, and the changes `others`, while `meanwhile` edits the folder. */
async function tried(
  others: readonly Change[],
  meanwhile: (at: (name: string) => string) => void,
  before: Readonly<Record<string, string>>,
): Promise<Tried> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), "unit-")));
  const at = (name: string): string => join(base, "root", name);
  try {
    for (const name of ["root", "store"]) mkdirSync(join(base, name));
    for (const [name, content] of Object.entries(before)) {
      writeFileSync(at(name), content, { mode: 0o644 });
      utimesSync(at(name), LATER, LATER);
    }
    const worktree = new DiskWorktree({
      disk: new NodeDisk(),
      roots: [{ id: undefined, folder: join(base, "root"), filter: DEFAULT_FILTER, limits: DEFAULT_LIMITS }],
      cacheFile: join(base, "store", "stat.cache"),
      staging: undefined,
      storeFolders: [join(base, "store")],
      clock: Date.now,
    });
    const report = await worktree.apply({
      token: "01UNIT",
      changes: [
        { path: parsePath("live.db"), before: entry("live.db", "old"), after: entry("live.db", "new") },
        { path: parsePath("other"), before: entry("other", "old"), after: entry("other", "new") },
        ...others,
      ],
      together: [PATHS.map(parsePath)],
      onBlocked: "skip",
      async *contents(hashes) {
        meanwhile(at);
        for (const hash of hashes) yield [hash, readerOf(hash)] as const;
      },
    });
    await worktree.close();
    const names = [...PATHS, "other"];
    const files = names.flatMap((name) => {
      try {
        return [[name, readFileSync(at(name), "utf8")]];
      } catch {
        return [];
      }
    });
    return { report, files: Object.fromEntries(files) as Record<string, string> };
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
}

const WAL = "live.db-wal";
const REPLACED: Change = { path: parsePath(WAL), before: entry(WAL, "old"), after: entry(WAL, "new") };
const REMOVED: Change = { path: parsePath(WAL), before: entry(WAL, "old"), after: undefined };
const MADE: Change = { path: parsePath(WAL), before: undefined, after: entry(WAL, "new") };
const STILL: Change = { path: parsePath(WAL), before: entry(WAL, "old"), after: entry(WAL, "old") };
const ABSENT: Change = { path: parsePath(WAL), before: undefined, after: undefined };
const ALL = { "live.db": "old", other: "old", [WAL]: "old" };
const ALONE = { "live.db": "old", other: "old" };

describe("Paths that change together", () => {
  it.each([
    ["is replaced", REPLACED, ALL, { ...ALL, "live.db": "new", other: "new", [WAL]: "new" }],
    ["is removed", REMOVED, ALL, { "live.db": "new", other: "new" }],
    ["is made", MADE, ALONE, { "live.db": "new", other: "new", [WAL]: "new" }],
    ["stays", STILL, ALL, { ...ALL, "live.db": "new", other: "new" }],
  ])("are all changed if one of them %s", async (_how, change, before, after) => {
    const { report, files } = await tried([change], () => undefined, before);
    expect(report.blocked).toEqual([]);
    expect(files).toEqual(after);
  });

  it.each([
    ["is to be replaced", REPLACED, ALL],
    ["is to be removed", REMOVED, ALL],
    ["is to stay", STILL, ALL],
    ["is to be made", MADE, ALONE],
    ["is to stay away", ABSENT, ALONE],
  ])("are all left alone if one that %s is written meanwhile", async (_how, change, before) => {
    const { report, files } = await tried([change], (at) => writeFileSync(at(WAL), "written"), before);
    expect(files).toEqual({ ...before, other: "new", [WAL]: "written" });
    expect(report.applied).toEqual(["other"]);
    const told = Object.fromEntries(report.blocked.map((one) => [one.path, one]));
    expect(told["live.db"]).toMatchObject({ reason: "changed", with: WAL });
    expect(told["live.db"]?.detail).toMatch(/^its database is one unit with live\.db-wal: /);
  });

  it("are put back if a write to one of them is noticed only when that one is to be replaced", async () => {
    const hidden = (at: (name: string) => string): void => {
      writeFileSync(at(WAL), "own");
      utimesSync(at(WAL), LATER, LATER);
    };
    const { report, files } = await tried([REPLACED], hidden, ALL);
    expect(files).toEqual({ ...ALL, other: "new", [WAL]: "own" });
    expect(report.applied).toEqual(["other"]);
    expect(report.conflicts).toEqual([]);
  });
});
