import fs, {
  closeSync,
  fdatasync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createHash } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { zstdDecompressSync } from "node:zlib";
import { afterEach, beforeEach, expect, it } from "vitest";
import { amountFor, type BenchContext } from "../../bench/lib/bench.ts";
import { runCommand } from "../../bench/lib/command.ts";
import { commitEdits } from "../../bench/lib/commit-edits.ts";
import { costOf, countingSyncs } from "../../bench/lib/costs.ts";
import { gitTool } from "../../bench/lib/git-tool.ts";
import { resultTable } from "../../bench/lib/print.ts";

let folder: string;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "chronicle-bench-")));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it("the syncs of an operation are counted, and those after it are not", async () => {
  const fd = openSync(join(folder, "file"), "w");
  const cost = await countingSyncs(async (syncs) => {
    fsyncSync(fd);
    return costOf(syncs, async () => {
      fs.fsyncSync(fd);
      await promisify(fdatasync)(fd);
    });
  });
  expect(cost.syncs).toBe(2);
  const after = await costOf(
    () => 0,
    async () => fsyncSync(fd),
  );
  expect(after.syncs).toBe(0);
  closeSync(fd);
});

it("git's edits are committed, and the tree and the branch are as before at the end", () => {
  const [tree, store] = ["tree", "store"].map((name) => {
    const path = join(folder, name);
    mkdirSync(path);
    return path;
  }) as [string, string];
  writeFileSync(join(tree, "a.txt"), "one\n");
  const git = gitTool.begin(tree, store);
  for (const command of [...git.record(), ...(git.keepFirst?.() ?? [])]) runCommand(command);
  const { env = {} } = git.record()[0] ?? { argv: [], cwd: tree };
  const head = () => runCommand({ argv: ["git", "rev-parse", "HEAD"], cwd: tree, env });
  const first = head();
  const samples = commitEdits(git, 3, (n) => {
    if (n > 0) expect(head()).not.toBe(first);
    return `edit ${n}\n`;
  });
  expect(samples).toHaveLength(3);
  expect(head()).toBe(first);
  expect(readdirSync(tree)).toEqual(["a.txt"]);
});

it("the plain capture stores every content, and lists every file with its hash", () => {
  const [tree, target] = [join(folder, "tree"), join(folder, "target")];
  for (const path of [join(tree, "sub"), target]) mkdirSync(path, { recursive: true });
  const files = { "a.txt": "one\n", "sub/b.txt": "two\n" };
  for (const [path, text] of Object.entries(files)) writeFileSync(join(tree, path), text);
  const program = join(import.meta.dirname, "../../bench/lib/plain-capture-main.ts");
  runCommand({ argv: [process.execPath, program, tree, target], cwd: folder });
  const list = readFileSync(join(target, "list"), "utf8").trimEnd().split("\n");
  const expected = Object.entries(files).map(
    ([path, text]) => `${createHash("sha256").update(text).digest("hex")} ${path}`,
  );
  expect(list.map((line) => line.replace(/ .* /, " ")).toSorted()).toEqual(expected.toSorted());
  const packs = readdirSync(target).filter((name) => name.startsWith("pack-"));
  const stored = packs
    .map((name) => readFileSync(join(target, name)))
    .filter(({ length }) => length > 0)
    .map((pack) => String(zstdDecompressSync(pack)));
  expect(stored.join("").split("\n").toSorted()).toEqual(["", "one", "two"]);
});

it("a quick look measures less and says so, and another run does not", () => {
  const context = (isQuick: boolean) => ({ options: { isQuick }, shortened: new Map<string, string>() });
  const [quick, whole] = [context(true), context(false)] as unknown as [BenchContext, BenchContext];
  expect(amountFor(quick, { what: "events", all: 1_000 })).toBe(100);
  expect(amountFor(quick, { what: "calls", all: 5, quick: 5 })).toBe(5);
  expect([...quick.shortened.values()]).toEqual(["100 events instead of 1000"]);
  expect(amountFor(whole, { what: "events", all: 1_000 })).toBe(1_000);
  expect(whole.shortened.size).toBe(0);
});

it("a table says of each promise whether it was kept", () => {
  const bench = { name: "example", promise: "fast", run: () => ({ rows: [], ratios: [], notes: [] }) };
  const ratio = (what: string, sample: number) => ({
    what,
    unit: "ms",
    samples: [sample],
    target: { kind: "at-most", value: 50 } as const,
  });
  const table = resultTable(bench, "S", { rows: [], ratios: [ratio("a", 40), ratio("b", 60)], notes: ["noted"] });
  expect(table).toContain("### example, corpus S: fast");
  expect(table).toContain("| **a** | 40.0 ms | ≤ 50: kept |");
  expect(table).toContain("| **b** | 60.0 ms | ≤ 50: **missed** |");
  expect(table).toContain("Noted.");
});
