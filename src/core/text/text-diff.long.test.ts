import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DiffBudget, MAX_DIFF_BYTES, MAX_EDITS, unifiedDiff } from "./text-diff.ts";
import type { DiffInput } from "./text-diff.ts";

function bytes(text: string | undefined): Uint8Array | undefined {
  return text === undefined ? undefined : Buffer.from(text);
}

function patchOf(before: string | undefined, after: string | undefined, more: Partial<DiffInput> = {}): string {
  const diff = unifiedDiff({ path: "x", before: bytes(before), after: bytes(after), ...more });
  if (diff.kind !== "text") throw new Error(`no patch: ${diff.kind}`);
  return diff.patch;
}

describe("unifiedDiff", () => {
  it("writes git's headers and one hunk with context", () => {
    const lines = ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""];
    const patch = patchOf(lines.join("\n"), lines.join("\n").replace("5", "five"), { context: 1 });
    const expected = ["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -4,3 +4,3 @@", " 4", "-5", "+five", " 6", ""];
    expect(patch.split("\n")).toEqual(expected);
  });

  it("names /dev/null for a side that does not exist, and gives the mode", () => {
    const created = "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n";
    expect(patchOf(undefined, "a\n", { afterMode: "100755" })).toBe(created);
    const deleted = "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n";
    expect(patchOf("a\n", undefined)).toBe(deleted);
    expect(patchOf(undefined, "")).toBe("diff --git a/x b/x\nnew file mode 100644\n");
  });

  it("marks a missing newline at the end", () => {
    expect(patchOf("a", "a\n")).toContain("-a\n\\ No newline at end of file\n+a\n");
  });

  it("is empty for equal sides", () => {
    expect([patchOf("a", "a"), patchOf("", ""), patchOf(undefined, undefined)]).toEqual(["", "", ""]);
  });

  it("gives a changed mode with or without a changed content, and the mode of a link", () => {
    const modes = { beforeMode: "100644", afterMode: "100755" } as const;
    expect(patchOf("a\0", "a\0", modes)).toBe("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n");
    expect(patchOf("a", "b", modes)).toContain("\nold mode 100644\nnew mode 100755\n--- a/x\n+++ b/x\n");
    expect(patchOf(undefined, "target", { afterMode: "120000" })).toContain("\nnew file mode 120000\n");
    expect(patchOf("target", undefined, { beforeMode: "120000" })).toContain("\ndeleted file mode 120000\n");
  });

  it("reports binary contents and contents that are too large", () => {
    const late = Buffer.concat([Buffer.alloc(8000, 97), Buffer.from([0])]);
    expect(unifiedDiff({ path: "x", before: Buffer.from("a\0b") })).toEqual({ kind: "binary" });
    expect(unifiedDiff({ path: "x", after: Buffer.from([0x61, 0xff]) })).toEqual({ kind: "binary" });
    expect(unifiedDiff({ path: "x", after: late }).kind).toBe("text");
    expect(unifiedDiff({ path: "x", after: Buffer.alloc(MAX_DIFF_BYTES + 1, 97) })).toEqual({ kind: "too-large" });
  });

  it("quotes names as git does", () => {
    expect(patchOf("a", "b", { path: 'é\n"\\' })).toContain('--- "a/\\303\\251\\n\\"\\\\"\n');
    expect(patchOf("a", "b", { path: "\udcff" })).toContain('+++ "b/\\377"\n');
    expect(patchOf("a", "b", { path: "a b" })).toContain("--- a/a b\t\n+++ b/a b\t\n");
  });
});

const hasGit = spawnSync("git", ["--version"]).status === 0;
const hasPatch = spawnSync("patch", ["--version"]).status === 0;

describe("the bounds of a patch", () => {
  const lines = Array.from({ length: 5 * MAX_EDITS }, (_, i) => `line ${i}`);

  it("lines that only one side has use up no search, and the equal lines between them stay", () => {
    const patch = patchOf(lines.join("\n"), lines.map((line, i) => (i % 2 === 0 ? line : `x${line}`)).join("\n"));
    expect(patch.match(/^-/gm)).toHaveLength(lines.length / 2 + 1);
    expect(patch).toContain("\n line 2\n-line 3\n+xline 3\n line 4\n");
  });

  it("a large file with few changed lines is compared, and one with too many is not", () => {
    const many = "\n".repeat(MAX_DIFF_BYTES - 2);
    expect(patchOf(`a${many}`, `b${many}`)).toContain("@@ -1,4 +1,4 @@\n-a\n+b\n \n \n \n");
    expect(patchOf(`${many}a`, `${many}b`)).toContain(
      `@@ -${many.length - 2},4 +${many.length - 2},4 @@\n \n \n \n-a\n`,
    );
    expect(unifiedDiff({ path: "x", after: Buffer.from(many) })).toEqual({ kind: "too-large" });
  });

  it("patches of one answer share a budget of search, and replace the whole differing part once it is used up", () => {
    const budget = new DiffBudget();
    const [before, after] = [lines.join("\n"), lines.toReversed().join("\n")];
    for (let i = 0; i < 25; i += 1) patchOf(before, after, { budget });
    expect(budget.edits).toBe(0);
    expect(patchOf("a\nb\nc\n", "c\na\nb\n", { budget })).toContain("-a\n-b\n-c\n+c\n+a\n+b\n");
    expect(patchOf("a\nb\nc\n", "c\na\nb\n")).toContain("+c\n a\n b\n-c\n");
  });
});

describe("a patch, applied", () => {
  let folder = "";
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "chronicle-diff-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** Returns the file's content after the tool has applied the patch; `undefined` if the file was removed. */
  function apply(tool: string[], path: string, before: string | undefined, patch: string): string | undefined {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    rmSync(file, { force: true });
    if (before !== undefined) writeFileSync(file, before);
    const [command = "", ...args] = tool;
    const { status, stderr } = spawnSync(command, args, { cwd: folder, input: patch, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    return existsSync(file) ? readFileSync(file, "utf8") : undefined;
  }

  const gitApply = ["git", "apply", "--whitespace=nowarn", "--unidiff-zero", "-"];
  const line = fc.constantFrom("a", "b", "", "c\r", "é", "-x", "+y", " z", "\\ No newline", "\u2028");
  const text = fc
    .tuple(fc.array(line, { maxLength: 14 }), fc.boolean())
    .map(([lines, ends]) => lines.join("\n") + (ends ? "\n" : ""));
  const side = fc.option(text, { nil: undefined });
  const path = fc.constantFrom("x", "dir/a b", "é", '"q"', "tab\there");

  it.skipIf(!hasGit)("by git apply gives the other side (skipped where git is not installed)", () => {
    const sides = fc.record({ before: side, after: side, path, context: fc.constantFrom(0, 1, 3) });
    fc.assert(
      fc.property(sides, ({ before, after, path: name, context }) => {
        // Without context, git takes a last line "a" without a newline for an earlier line "a". It does so for its own
        // patches, too.
        if (context === 0 && before !== undefined && !before.endsWith("\n")) return;
        const patch = patchOf(before, after, { path: name, context });
        if (patch !== "") expect(apply(gitApply, name, before, patch)).toBe(after);
      }),
      { numRuns: 150 },
    );
  });

  it.skipIf(!hasPatch)("by patch -p1 gives the other side (skipped where patch is not installed)", () => {
    const cases: [string | undefined, string | undefined][] = [
      ["a\nb\nc\n", "a\nB\nc"],
      [undefined, "new\n"],
      ["old\n", undefined],
      ["a", "a\nb"],
    ];
    for (const [before, after] of cases) {
      const patch = patchOf(before, after, { path: "dir/a b" });
      expect(apply(["patch", "-p1", "-s"], "dir/a b", before, patch)).toBe(after);
    }
  });

  it.skipIf(!hasGit)("with more edits than are searched for still applies (skipped where git is not installed)", () => {
    const lines = Array.from({ length: MAX_EDITS }, (_, i) => `${i}`);
    const [before, after] = [lines, lines.toReversed()].map((some) =>
      ["same", "same", "x", "x", ...some, "end", "x", "x", "y"].join("\n"),
    );
    const patch = patchOf(before, after);
    expect(patch).toContain(`@@ -2,${MAX_EDITS + 6} +2,${MAX_EDITS + 6} @@\n same\n x\n x\n-0\n`);
    expect(apply(gitApply, "x", before, patch)).toBe(after);
  });
});
