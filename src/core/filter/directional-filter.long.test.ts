import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DirectionalFilter, type ReplicaDirection, SANDBOX_POLICY } from "./directional-filter.ts";
import { FilterPattern, fastTest } from "./filter-pattern.ts";
import { DEFAULT_FILTER } from "./filter.ts";
import { compileSpec } from "./ignore.ts";
import type { WorkspacePath } from "../values/path.ts";

function filterOf(...patterns: string[]): DirectionalFilter {
  const filter = new DirectionalFilter();
  for (const text of patterns) filter.addPattern(new FilterPattern(text));
  return filter;
}

const passes = (filter: DirectionalFilter, path: string, direction: ReplicaDirection = "to-replica"): boolean =>
  filter.passesPath(path.replace(/\/$/, ""), path.endsWith("/"), direction);

/**
 * Returns a test for the same patterns that uses the matcher for `.gitignore` files. That matcher is tested against git
 * itself.
 */
function plain(patterns: readonly string[]) {
  const rules = [{ folder: "", source: ".gitignore", text: patterns.join("\n") }];
  const spec = compileSpec({ options: DEFAULT_FILTER, rules });
  return (path: string, isFolder: boolean) => spec.judge(path, isFolder).tracked;
}

describe("DirectionalFilter", () => {
  it("lets everything through without patterns", () => {
    const filter = new DirectionalFilter();
    expect(passes(filter, ".git/config")).toBe(true);
    expect(passes(filter, "")).toBe(true);
  });

  it("does what seed 003 shows", () => {
    const filter = filterOf("*.pyc", "node_modules/**", ".git/**");
    expect(passes(filter, "a/b.pyc")).toBe(false);
    expect(passes(filter, "node_modules/x/y.js")).toBe(false);
    expect(passes(filter, "node_modules/")).toBe(true);
    expect(passes(filter, ".git/HEAD")).toBe(false);
    expect(passes(filter, ".gitignore")).toBe(true);
    expect(passes(filter, "src/b.py", "from-replica")).toBe(true);
  });

  it("keeps the directions apart", () => {
    const filter = new DirectionalFilter()
      .addPattern(new FilterPattern("*.env"), "to-replica")
      .addPattern(new FilterPattern("out/"), "from-replica");
    expect(passes(filter, "a.env", "to-replica")).toBe(false);
    expect(passes(filter, "a.env", "from-replica")).toBe(true);
    expect(passes(filter, "out/a", "to-replica")).toBe(true);
    expect(passes(filter, "out/a", "from-replica")).toBe(false);
    expect(filter.patterns("from-replica")).toEqual(["out/"]);
  });

  it("applies a pattern that is added after the filter was first asked", () => {
    const filter = filterOf("*.pyc");
    expect(passes(filter, "a.log")).toBe(true);
    filter.addPattern(new FilterPattern("*.log"));
    expect(passes(filter, "a.log")).toBe(false);
  });

  it("lets the last matching pattern decide, but includes nothing again in a folder that is filtered out", () => {
    const filter = filterOf("*.log", "logs/", "!keep.log", "/tmp/*.log");
    expect(passes(filter, "a/keep.log")).toBe(true);
    expect(passes(filter, "logs/keep.log")).toBe(false);
    expect(passes(filter, "tmp/keep.log")).toBe(false);
  });

  it("refuses a pattern with a line break or a NUL, and one that is too long", () => {
    for (const text of ["a\nb", "a\0", "x".repeat(5000)]) {
      expect(() => new FilterPattern(text)).toThrow(expect.objectContaining({ code: "USAGE" }));
    }
  });

  it("refuses too many patterns when it is first asked", () => {
    const filter = filterOf(...Array.from({ length: 2001 }, (_, i) => `!a?${i}[x]b`));
    expect(() => passes(filter, "a")).toThrow(expect.objectContaining({ code: "LIMIT_EXCEEDED" }));
  });

  it("keeps less than 60 MiB for 40,000 long paths that a peer makes up", () => {
    const filter = filterOf("[x]");
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 40_000; i += 1) {
      expect(filter.passesPath(`${i}-`.padEnd(3000, "y").concat("/a"), false, "to-replica")).toBe(true);
    }
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(60 * 1024 ** 2);
    expect(passes(filter, "folder-1/x/b")).toBe(false);
  });

  it("decides about the deepest path that there can be", () => {
    const deep = "a/".repeat(32_000);
    expect(passes(filterOf("[x]"), `${deep}b`)).toBe(true);
    expect(passes(filterOf("[x]"), `${deep}x/b`)).toBe(false);
    expect(passes(filterOf("b"), `${deep}b`)).toBe(false);
  });
});

describe("against the plain matcher", () => {
  const name = fc.constantFrom(
    "a",
    "b",
    "ab",
    "build",
    "x.pyc",
    ".pyc",
    "build.pyc",
    "tmp",
    "tmp1",
    "a.b",
    "é",
    "a b",
    "A",
  );
  const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
  const piece = fc.constantFrom(
    "a",
    "b",
    "ab",
    "build",
    ".pyc",
    "tmp",
    "*",
    "**",
    "/",
    "?",
    "[ab]",
    "\\a",
    "é",
    " ",
    ".",
    "#",
    "A",
  );
  const pattern = fc
    .tuple(
      fc.constantFrom("", "", "", "!", "/", "*", "**/", "#"),
      fc.array(piece, { maxLength: 4 }),
      fc.constantFrom("", "", "/", "/**", "*"),
    )
    .map(([head, body, tail]) => head + body.join("") + tail);
  const simple = fc
    .tuple(fc.constantFrom("", "/", "*", "a/", "**/"), name, fc.constantFrom("", "/", "/**", "*", "/b", "*/"))
    .map((parts) => parts.join(""));

  it.each([
    ["any patterns", fc.array(pattern, { minLength: 1, maxLength: 5 })],
    ["simple patterns", fc.array(simple, { minLength: 1, maxLength: 5 })],
    ["one simple pattern", fc.array(simple, { minLength: 1, maxLength: 1 })],
    ["many patterns", fc.array(simple, { minLength: 13, maxLength: 20 })],
  ])("%s decide alike", (_, lists) => {
    fc.assert(
      fc.property(lists, fc.array(path, { minLength: 1, maxLength: 8 }), fc.boolean(), (patterns, paths, isFolder) => {
        const filter = filterOf(...patterns);
        const tracked = plain(patterns);
        for (const one of paths) {
          expect(filter.passesPath(one, isFolder, "to-replica"), `${JSON.stringify(patterns)} ${one}`).toBe(
            tracked(one, isFolder),
          );
        }
      }),
      { numRuns: 1000 },
    );
  });

  it.each([
    "name",
    "name/",
    "/docs/old",
    "docs/old/",
    "*.pyc",
    "tmp*",
    "*cache*",
    "*cache*/",
    "**/name",
    "build/",
    ".git/**",
  ])("%s is decided by string operations alone", (text) => {
    expect(fastTest(new FilterPattern(text))).toBeDefined();
  });

  it.each(["!a", "#a", "", "a?", "[ab]", "a\\b", "a/**/b", "*a*b", "*", "é", "a ", "/"])(
    "%j is not decided by string operations alone",
    (text) => {
      expect(fastTest(new FilterPattern(text))).toBeUndefined();
    },
  );
});

describe("SANDBOX_POLICY", () => {
  const filter = DirectionalFilter.of(SANDBOX_POLICY);

  it("sends everything to the sandbox", () => {
    for (const path of ["node_modules/a/b.js", "build/x.o", "a.log"]) expect(passes(filter, path)).toBe(true);
  });

  it.each([
    "src/core/main.ts",
    "src/core/",
    "Makefile",
    "Dockerfile",
    ".env.example",
    "package-lock.json",
    "config/app.yaml",
    "docs/readme.md",
    "docs/paper.pdf",
    "logo.png",
    "photo.jpg",
    "icon.svg",
    "builder/a.ts",
    "lib/target.rs",
    "report.json",
  ])("takes %s from the sandbox", (path) => {
    expect(passes(filter, path, "from-replica")).toBe(true);
  });

  it.each([
    "build/a.js",
    "packages/web/dist/app.js",
    "a/__pycache__/x.cpython-312.pyc",
    "target/debug/app",
    "sub/node_modules/x/index.js",
    ".venv/bin/python",
    "model.safetensors",
    "backup.tar.gz",
    "src/.main.ts.swp",
    "notes.txt~",
    "npm-debug.log",
    "core.1234",
    "app/bin/Release/x",
    "coverage/index.html",
  ])("leaves %s in the sandbox", (path) => {
    expect(passes(filter, path, "from-replica")).toBe(false);
  });

  it("leaves files of more than 32 MiB in the sandbox, but sends such files to it", () => {
    const subject = { path: "data.csv" as WorkspacePath, kind: "file" as const, size: 33 * 1024 ** 2 };
    expect(filter.passes(subject, "from-replica")).toBe(false);
    expect(filter.passes(subject, "to-replica")).toBe(true);
    expect(filter.passes({ ...subject, size: 1000 }, "from-replica")).toBe(true);
  });
});
