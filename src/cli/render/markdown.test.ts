import { describe, expect, it } from "vitest";
import type { ChangeShape } from "../../api/shapes.ts";
import { type MarkdownChanges, markdownLines } from "./markdown.ts";

function change(path: string, more: Partial<ChangeShape> = {}): ChangeShape {
  const sizes = { before_hash: "", after_hash: "", before_size: 0, after_size: 1, size_delta: 1 };
  return { path, change_type: "modified", kind: "file", ...sizes, ...more };
}

function patchOf(path: string, ...lines: readonly string[]): string {
  return [`diff --git a/${path} b/${path}`, `--- a/${path}`, `+++ b/${path}`, "@@ -1 +1 @@", ...lines, ""].join("\n");
}

function text(given: Partial<MarkdownChanges>): string {
  return markdownLines({ what: "turn 1", actions: [], changes: [], ambiguous: [], notes: [], ...given }).join("\n");
}

describe("changes as Markdown", () => {
  it("say who did what: one row for each turn, and for each path with its lines", () => {
    const by = { actor: "claude-code", session: "s1", turn: "t1" };
    const found = text({
      actions: [by, by, { ...by, turn: null }],
      changes: [
        change("a.txt", { patch: patchOf("a.txt", "-one", "+two", "+three") }),
        change("x.bin", { change_type: "created", binary: true }),
      ],
    });
    expect(found).toContain("### `turn 1`: 2 changed paths, +2 −1\n");
    expect(found).toContain("| `claude-code` | `s1` | `t1` | 2 |\n| `claude-code` | `s1` |  | 1 |");
    expect(found).toContain("| `a.txt` | modified | +2 −1 |\n| `x.bin` | created | binary |");
    expect(found).toContain("<details><summary><code>a.txt</code> +2 −1</summary>\n\n```diff\ndiff --git a/a.txt");
    expect(found).toContain("+three\n```\n\n</details>");
    expect(found.match(/<details>/g)).toHaveLength(1);
  });

  it("let no patch end its block, and no name leave its code", () => {
    const path = "a`b|<b>@someone\n#1";
    const found = text({ changes: [change(path, { patch: patchOf("x", "+````", "+</details>") })] });
    expect(found).toContain("| ``a`b\\|<b>@someone\\n#1`` |");
    expect(found).toContain("<summary><code>a`b|&lt;b&gt;@someone\\n#1</code>");
    expect(found).toContain("`````diff\n");
    expect(found).toContain("+````\n+</details>\n`````\n");
    expect(text({ what: "`" })).toContain("### `` ` ``:");
  });

  it("keep a name with a backslash before a bar in its cell", () => {
    const found = text({ changes: [change("a\\|*b.txt", {})] });
    expect(found).toContain("| <code>a&#92;&#124;&#42;b.txt</code> | modified |");
  });

  it("have no content of a secret", () => {
    const found = text({ changes: [change(".env", { protected: true })] });
    expect(found).toContain("| `.env` | modified | protected |");
    expect(found).not.toContain("<details>");
  });

  it("leave out the patches that would make the text too long, and say how many", () => {
    const long = { patch: patchOf("x", `+${"x".repeat(40_000)}`) };
    const found = text({ changes: [change("a", long), change("b", long), change("c", { patch: patchOf("c", "+1") })] });
    expect(found.length).toBeLessThan(65_536);
    expect(found).toContain("left out, because the text would be too long");
    expect(found).toContain("| `b` | modified | +1 −0 |");
  });

  it("name the paths that may be the work of others, and the notes", () => {
    const found = text({ ambiguous: ["a", "b"], notes: ["a compaction"] });
    expect(found).toContain("2 paths may be the work of others: `a`, `b`");
    expect(found).toContain("Note: `a compaction`");
  });
});
