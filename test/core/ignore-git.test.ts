import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DEFAULT_FILTER } from "../../src/core/filter/filter.ts";
import type { FilterSpec, RuleFile } from "../../src/core/filter/filter.ts";
import { compileSpec } from "../../src/core/filter/ignore.ts";
import { decodeName, pathToBytes } from "../../src/core/values/path.ts";

/** 8,000 rounds (2.9 million verdicts) found no difference when this test was written. A few are enough since. */
const ROUNDS = 80;

const hasGit = spawnSync("git", ["--version"]).status === 0;

/** A small random generator with a seed, so that a failing round can be repeated. */
function numbers(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NAMES = [
  "a",
  "b",
  "ab",
  "x",
  "xy",
  "a b",
  "#a",
  "!b",
  "a.c",
  "b.c",
  ".c",
  "é",
  "a\udcff",
  "[a]",
  "a*",
  "b\\",
  "A",
];

function treeFolders(): string[] {
  const top = NAMES.slice(0, 7);
  const second = top.flatMap((folder) => ["a", "b", "xy"].map((name) => `${folder}/${name}`));
  return [...top, ...second, ...["a/b/a", "x/a/b", "x/xy/a", "a/b/a/x"]];
}

const PIECES = [
  ..."abxy",
  ..."abxy",
  ..."***?",
  "**",
  "/",
  "/",
  "/",
  "**/",
  "/**",
  "/**/",
  "[ab]",
  "[!a]",
  "[^xy]",
  "[a-y]",
  "[]a]",
  "[a/]",
  "[[:alpha:]]",
  "[[:x",
  "[",
  "[a",
  "\\",
  "\\a",
  "\\*",
  "\\/",
  ".c",
  "é",
  " ",
  "\\ ",
  "#",
  "!",
  "xy",
];

function randomLine(next: (below: number) => number): string {
  const length = 1 + next(5);
  let line = next(4) === 0 ? "!" : "";
  if (next(4) === 0) line += "/";
  for (let i = 0; i < length; i += 1) line += PIECES[next(PIECES.length)] ?? "";
  if (next(5) === 0) line += "/";
  if (next(8) === 0) line += " ";
  return next(12) === 0 ? `${line}\r` : line;
}

function randomRules(next: (below: number) => number): string {
  const lines = Array.from({ length: 1 + next(5) }, () => randomLine(next));
  return `${next(10) === 0 ? "\uFEFF" : ""}${lines.join("\n")}${next(2) === 0 ? "\n" : ""}`;
}

interface Answer {
  readonly source: string;
  readonly pattern: string;
}

describe.skipIf(!hasGit)("ignore rules, compared with git check-ignore (skipped without git)", () => {
  let root = "";
  const folders = treeFolders();
  const files = ["", ...folders].flatMap((folder) =>
    NAMES.slice(7).map((name) => (folder === "" ? name : `${folder}/${name}`)),
  );
  const paths = [
    ...folders.map((path) => ({ path, isFolder: true })),
    ...files.map((path) => ({ path, isFolder: false })),
  ];
  const input = Buffer.concat(paths.flatMap(({ path }) => [pathToBytes(path), Buffer.from([0])]));

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), "chronicle-ignore-"));
    execFileSync("git", ["init", "-q", root]);
    for (const folder of folders) mkdirSync(join(root, folder), { recursive: true });
    for (const file of files) writeFileSync(Buffer.concat([Buffer.from(`${root}/`), pathToBytes(file)]), "");
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  function askGit(): Answer[] {
    const where = ["--git-dir=.git", "--work-tree=.", "-c", "core.excludesFile=/dev/null"];
    const args = [...where, "check-ignore", "--no-index", "-v", "-n", "-z", "--stdin"];
    const { stdout } = spawnSync("git", args, { cwd: root, input, maxBuffer: 2 ** 26 });
    const fields: string[] = [];
    for (let at = 0; at < stdout.length;) {
      const end = stdout.indexOf(0, at);
      fields.push(decodeName(stdout.subarray(at, end)));
      at = end + 1;
    }
    return paths.map((_, i) => {
      const [source = "", line = "", pattern = ""] = fields.slice(i * 4, i * 4 + 3);
      return { source: source === "" ? "" : `${source}:${line}`, pattern };
    });
  }

  function round(seed: number): string[] {
    const next = numbers(seed);
    const places = ["", ...folders.filter(() => next(8) === 0)];
    const rules: RuleFile[] = [{ folder: "", source: ".git/info/exclude", text: randomRules(next) }];
    for (const folder of places) {
      const source = folder === "" ? ".gitignore" : `${folder}/.gitignore`;
      rules.push({ folder, source, text: randomRules(next) });
    }
    for (const rule of rules) writeFileSync(join(root, rule.source), rule.text);
    const filter = compileSpec({ options: DEFAULT_FILTER, rules } satisfies FilterSpec);
    const answers = askGit();
    for (const rule of rules) rmSync(join(root, rule.source));
    return paths.flatMap(({ path, isFolder }, i) => {
      const verdict = filter.judge(path, isFolder);
      const theirs = answers[i] ?? { source: "missing", pattern: "" };
      const tracked = theirs.source === "" || theirs.pattern.startsWith("!");
      const same =
        verdict.tracked === tracked &&
        (verdict.source ?? "") === theirs.source &&
        (verdict.pattern ?? "") === theirs.pattern;
      return same ? [] : [JSON.stringify({ seed, path, isFolder, verdict, theirs, rules })];
    });
  }

  it("give the same verdict for every path, by the same line", () => {
    const wrong: string[] = [];
    for (let seed = 1; seed <= ROUNDS && wrong.length === 0; seed += 1) wrong.push(...round(seed));
    expect(wrong.slice(0, 2)).toEqual([]);
  });
});
