import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DEFAULT_FILTER } from "./filter.ts";
import type { FilterOptions, FilterSpec, RuleFile, Verdict } from "./filter.ts";
import { MAX_RULE_FILE_BYTES, MAX_WILD_RULES } from "./ignore-rules.ts";
import { compileFilter, compileSpec, explainPath } from "./ignore.ts";
import type { FolderScope } from "./ignore.ts";
import { processorTime } from "../../testing/processor-time.ts";

function rootRules(text: string): RuleFile {
  return { folder: "", source: ".gitignore", text };
}

function spec(options: Partial<FilterOptions>, ...rules: RuleFile[]): FilterSpec {
  return { options: { ...DEFAULT_FILTER, ...options }, rules };
}

function isTracked(given: FilterSpec, path: string): boolean {
  return explainPath(given, path.replace(/\/$/, ""), path.endsWith("/")).tracked;
}

describe("exclusions of the user", () => {
  const rows: [string, Partial<FilterOptions>, string[], string[]][] = [
    [
      "a pattern matches a whole component",
      { excludePatterns: ["node_modules"] },
      ["a/node_modules_2/x", "xnode_modules"],
      ["node_modules/", "a/node_modules/b/c"],
    ],
    [
      "a pattern with a slash matches a part of the path",
      { excludePatterns: ["src/gen"] },
      ["src/x", "a/gen"],
      ["src/gen/x", "a/src/gen", "src/generated.ts"],
    ],
    [
      "a pattern with a slash at the end matches folders only",
      { excludePatterns: ["out/"] },
      ["out", "output/x"],
      ["out/", "a/out/b"],
    ],
    ["empty lists exclude nothing", { excludePatterns: [], excludeGlobs: [] }, ["a", "b/", "b/c.tmp"], []],
    ["an empty pattern and slashes alone exclude nothing", { excludePatterns: ["", "/", "//"] }, ["a", "b/c"], []],
    [
      "a glob matches a name",
      { excludeGlobs: ["*.tmp.[0-9]*.[0-9]*"] },
      ["file.tmp", ".tmp.backup.old"],
      ["file.tmp.12.34", "a/b/x.tmp.1.2"],
    ],
    ["a glob with **/ matches at any depth", { excludeGlobs: ["**/*.pyc"] }, ["a.py"], ["a.pyc", "x/y/a.pyc"]],
    ["a ? in a glob matches a character, not a byte", { excludeGlobs: ["?.txt"] }, ["ab.txt"], ["é.txt", "😀.txt"]],
    ["a glob that cannot be read matches nothing", { excludeGlobs: ["[a"] }, ["a", "[a"], []],
    [
      "a force-include wins over an exclusion",
      { excludePatterns: ["out"], forceInclude: ["out"] },
      ["out/", "out/a/b"],
      [],
    ],
    [
      "a force-include matches a whole component",
      { excludePatterns: ["myapp"], forceInclude: ["app"] },
      ["myapp/app", "myapp/x/app/y"],
      ["myapp/x", "myapp/apple"],
    ],
    [
      "a force-include with a slash matches a path",
      { excludePatterns: ["out"], forceInclude: ["out/keep"] },
      ["out/keep/", "out/keep/x/y"],
      ["out/", "out/x"],
    ],
    [
      "a force-include wins over a glob",
      { excludeGlobs: ["*.log"], forceInclude: ["a.log"] },
      ["x/a.log"],
      ["x/b.log"],
    ],
    [
      ".git is left out at any depth",
      {},
      [".github/x", ".gitignore"],
      [".git", ".git/config", "a/.git/", "a/.git/x/y"],
    ],
    [
      "a force-include of a folder does not include .git in it",
      { forceInclude: ["a", "config"] },
      ["a/x"],
      [".git/config", "a/.git/config"],
    ],
    [
      "a force-include of .git includes it at any depth",
      { forceInclude: [".git"] },
      [".git/", ".git/config", "a/.git/x"],
      [],
    ],
    [
      "a force-include of a path in .git includes only that path",
      { forceInclude: [".git/hooks"] },
      [".git/hooks/pre-commit"],
      [".git/", ".git/config"],
    ],
  ];
  it.each(rows)("%s", (_name, options, tracked, excluded) => {
    const given = spec(options);
    expect(tracked.filter((path) => !isTracked(given, path))).toEqual([]);
    expect(excluded.filter((path) => isTracked(given, path))).toEqual([]);
  });

  it("take precedence over ignore files, and force-include over both", () => {
    const given = spec({ excludePatterns: ["b"], forceInclude: ["c"] }, rootRules("*\n!b\n!a"));
    expect(["a", "b", "c", "d", "a/b", "d/c"].map((path) => isTracked(given, path))).toEqual([
      true,
      false,
      true,
      false,
      false,
      true,
    ]);
  });
});

describe("ignore files", () => {
  it("are combined with nested ones, and the deepest one that matches decides", () => {
    const nested = { folder: "a", source: "a/.gitignore", text: "!x.log\n/only\n" };
    const given = spec(
      {},
      { folder: "", source: ".git/info/exclude", text: "secret" },
      rootRules("*.log\nbuild/\n!secret\n"),
      nested,
    );
    const verdicts = ["x.log", "a/x.log", "a/b/x.log", "a/y.log", "a/only", "a/b/only", "build/a", "build", "secret"];
    expect(verdicts.map((path) => isTracked(given, path))).toEqual([
      false,
      true,
      true,
      false,
      false,
      true,
      false,
      true,
      true,
    ]);
  });

  it("cannot include a path again that is in an excluded folder", () => {
    const given = spec({}, rootRules("out/\n!out/keep\n!keep"), {
      folder: "out",
      source: "out/.gitignore",
      text: "!keep",
    });
    expect(explainPath(given, "out/keep", false)).toEqual({
      tracked: false,
      rule: "gitignore",
      pattern: "out/",
      source: ".gitignore:1",
    });
  });

  it("are read line by line as git does", () => {
    const given = spec({}, rootRules("\uFEFFbom\na\\ \nb\\   \nc  \nd\r\n#e\n\\#f\n\\!g\nh\0i\n\n/\n!\n"));
    const excluded = ["bom", "a ", "b ", "c", "d", "#f", "!g", "h"];
    expect(excluded.filter((path) => isTracked(given, path))).toEqual([]);
    expect(["a", "b  ", "c  ", "d\r", "e", "#e", "hi"].filter((path) => !isTracked(given, path))).toEqual([]);
  });

  it("are ignored if `useGitignore` is off", () => {
    expect(isTracked(spec({ useGitignore: false }, rootRules("*")), "a")).toBe(true);
  });

  it("match names whose bytes are not UTF-8", () => {
    const given = spec(
      { excludePatterns: ["x\udcff"], excludeGlobs: ["y?"] },
      rootRules("a?\n\udcfe\n[\udc80-\udcff]b\n"),
    );
    const paths = ["a\udcff", "\udcfe", "\udcffb", "\udcff", "x\udcff", "y\udcff", "\ud800", "\udcff/\udcfe"];
    expect(paths.map((path) => isTracked(given, path))).toEqual([false, false, false, true, false, false, true, false]);
  });

  it("give the line that decided", () => {
    const given = spec(
      { excludePatterns: ["p"], excludeGlobs: ["*.g"], forceInclude: ["f"] },
      rootRules("# x\n\n*.log \n!b.log\n"),
    );
    const expected: [string, Verdict][] = [
      ["x", { tracked: true, rule: "default" }],
      ["a.log", { tracked: false, rule: "gitignore", pattern: "*.log", source: ".gitignore:3" }],
      ["b.log", { tracked: true, rule: "gitignore", pattern: "!b.log", source: ".gitignore:4" }],
      ["p/x", { tracked: false, rule: "exclude", pattern: "p" }],
      ["a.g", { tracked: false, rule: "exclude-glob", pattern: "*.g" }],
      ["p/f", { tracked: true, rule: "force-include", pattern: "f" }],
      ["a/.git", { tracked: false, rule: "git", pattern: ".git" }],
      ["", { tracked: true, rule: "default" }],
    ];
    expect(expected.map(([path]) => [path, explainPath(given, path, false)])).toEqual(expected);
  });
});

describe("a walk", () => {
  const filter = compileFilter({ ...DEFAULT_FILTER, excludePatterns: ["out"] });

  it("keeps the parent's scope for a folder where no rule changes", () => {
    const root = filter.enter(undefined, "", [rootRules("*.log\n/a/b\n")]);
    const other = filter.enter(root, "c", []);
    expect(filter.enter(other, "c/d", [])).toBe(other);
    expect(filter.enter(root, "a", []).tracks("b", false)).toBe(false);
    expect(other.tracks("b", false)).toBe(true);
    expect(filter.enter(other, "c/d", []).tracks("x.log", false)).toBe(false);
  });

  it("enters excluded folders only when something in them may be force-included", () => {
    const forcing = compileFilter({ ...DEFAULT_FILTER, excludePatterns: ["out"], forceInclude: ["keep"] });
    const git = compileFilter({ ...DEFAULT_FILTER, forceInclude: [".git/hooks"] });
    const walks = (scope: FolderScope): boolean[] => ["src", "out", ".git"].map((name) => scope.walks(name));
    expect(walks(filter.enter(undefined, "", []))).toEqual([true, false, false]);
    expect(walks(forcing.enter(undefined, "", []))).toEqual([true, true, false]);
    expect(walks(git.enter(undefined, "", []))).toEqual([true, true, true]);
  });

  it("can begin in any folder, without the rule files above it", () => {
    const scope = filter.enter(undefined, "out/x", [{ folder: "out/x", source: "out/x/.gitignore", text: "!a" }]);
    expect(scope.judge("a", false)).toEqual({ tracked: false, rule: "exclude", pattern: "out" });
    expect(filter.enter(undefined, "a/b", [{ folder: "a/b", source: "", text: "/c" }]).tracks("c", false)).toBe(false);
  });
});

const names = fc.constantFrom("a", "b", "ab", "a.log", ".git", "out", "é", "a\udcff");
const paths = fc.array(names, { minLength: 1, maxLength: 5 }).map((parts) => parts.join("/"));
const pieces = fc.constantFrom("a", "b", "*", "**", "/", "?", "[ab]", ".git", "out", "!", ".log", "é");
const lines = fc.array(pieces, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(""));
const texts = fc.array(lines, { maxLength: 4 }).map((all) => all.join("\n"));
const patterns = fc.array(fc.oneof(names, paths), { maxLength: 2 });
const optionSets = fc.record({
  useGitignore: fc.boolean(),
  excludePatterns: patterns,
  excludeGlobs: fc.array(lines, { maxLength: 2 }),
  forceInclude: patterns,
});
const specs = fc.record({
  options: optionSets,
  rules: fc
    .dictionary(fc.oneof(fc.constant(""), paths), texts, { maxKeys: 4 })
    .map((files) =>
      Object.entries(files).map(([folder, text]): RuleFile => ({ folder, source: `${folder}/.gitignore`, text })),
    ),
});

/** Returns the verdict on every path that a walk reaches. Paths in folders that the walk does not enter are missing. */
function walk(given: FilterSpec, all: readonly string[]): Map<string, Verdict> {
  const filter = compileFilter(given.options);
  const seen = new Map<string, Verdict>();
  const folders = new Set(all.flatMap((path) => path.split("/").map((_, i, parts) => parts.slice(0, i).join("/"))));
  const rulesOf = (folder: string): RuleFile[] => given.rules.filter((file) => file.folder === folder);
  const visit = (scope: FolderScope, folder: string): void => {
    for (const path of new Set([...all, ...folders])) {
      const slash = path.lastIndexOf("/");
      if (path === "" || path.slice(0, Math.max(slash, 0)) !== folder) continue;
      const name = path.slice(slash + 1);
      const isFolder = folders.has(path);
      seen.set(path, scope.judge(name, isFolder));
      expect(scope.tracks(name, isFolder)).toBe(seen.get(path)?.tracked);
      if (isFolder && scope.walks(name)) visit(filter.enter(scope, path, rulesOf(path)), path);
    }
  };
  visit(filter.enter(undefined, "", rulesOf("")), "");
  return seen;
}

it("explainPath agrees with the walk, and what the walk leaves out is not tracked", () => {
  fc.assert(
    fc.property(specs, fc.array(paths, { minLength: 1, maxLength: 12 }), (given, all) => {
      const seen = walk(given, all);
      const folders = new Set(all.flatMap((path) => path.split("/").map((_, i, parts) => parts.slice(0, i).join("/"))));
      for (const path of all) {
        const verdict = explainPath(given, path, folders.has(path));
        expect(verdict.tracked && !seen.has(path)).toBe(false);
        if (seen.has(path)) expect(verdict).toEqual(seen.get(path));
      }
    }),
    { numRuns: 1500 },
  );
});

describe("hostile rules", () => {
  function milliseconds(run: () => void): number {
    const spent = processorTime();
    run();
    return spent();
  }

  it("with many stars take time in proportion to pattern and name", () => {
    const stars = [
      "*a".repeat(60) + "b",
      "**/" + "*a".repeat(60) + "*b/c",
      "**/*?".repeat(400) + "b",
      "*?".repeat(1000) + "/b",
    ];
    const given = compileSpec(spec({ excludeGlobs: ["*a*a*a*a*a*a*a*b"] }, rootRules(stars.join("\n"))));
    const folder = "a".repeat(250);
    const spent = milliseconds(() => {
      for (let i = 0; i < 50; i += 1) expect(given.judge(`${folder}/${folder.slice(4)}${i}`, false).tracked).toBe(true);
    });
    expect(spent).toBeLessThan(2000);
  });

  it("take little time in their thousands if they are plain", () => {
    const plain = Array.from({ length: 10_000 }, (_, i) => [`name${i}`, `*.e${i}`, `h${i}-*`, `/d/e/f${i}`]).flat();
    const given = compileSpec(spec({}, rootRules(plain.join("\n"))));
    expect(isTracked(spec({}, rootRules(plain.join("\n"))), "d/e/f9999")).toBe(false);
    const spent = milliseconds(() => {
      for (let i = 0; i < 20_000; i += 1) given.judge(`d/e/g${i}`, false);
    });
    expect(spent).toBeLessThan(1000);
  });

  it("beyond the limits are not applied, and are reported as a problem", () => {
    const filter = compileFilter(DEFAULT_FILTER);
    const large = rootRules(`*\n${"#".repeat(MAX_RULE_FILE_BYTES)}`);
    const wild = rootRules(`*\n${Array.from({ length: MAX_WILD_RULES + 1 }, (_, i) => `a*${i}*b`).join("\n")}`);
    for (const file of [large, wild]) {
      expect(filter.problemOf(file)).toMatch(/larger than|more than/);
      expect(filter.enter(undefined, "", [file]).tracks("a", false)).toBe(true);
    }
    expect(filter.problemOf(rootRules("*"))).toBeUndefined();
    expect(isTracked(spec({}, rootRules(`${"a".repeat(5000)}*b*\n`)), "a")).toBe(true);
  });

  it("do not exhaust the stack on a path of thousands of folders", () => {
    expect(isTracked(spec({}, rootRules("**/x/**/y")), `${"a/".repeat(8000)}x/y`)).toBe(false);
  });
});
