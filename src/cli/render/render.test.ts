import { describe, expect, it } from "vitest";
import type { ChangeShape, CoverageShape, RunShape, SessionShape } from "../../api/shapes.ts";
import { paintFor, printable, printableText, shownCommand } from "../../process/printable.ts";
import { changeLines, countsOf, coverageLines } from "./changes.ts";
import { closestTo, distance } from "./closest.ts";
import { columns } from "./columns.ts";
import { writeJson } from "./json.ts";
import { patchLines, patchText, statLines } from "./patch.ts";
import { runSummary } from "./run-summary.ts";

const plain = { paint: paintFor(false), shown: (path: string) => path };

function change(path: string, change_type: ChangeShape["change_type"], more: Partial<ChangeShape> = {}): ChangeShape {
  const base = { before_hash: "", after_hash: "", before_size: 0, after_size: 0, size_delta: 0 };
  return { path, change_type, kind: "file", ...base, ...more };
}

const CHANGES = [
  change("a.txt", "created", { after_size: 2048 }),
  change("b.txt", "modified", { size_delta: -20 }),
  change("c", "deleted", { kind: "dir" }),
  change("run.sh", "permissions_changed", { before_permissions: 0o644, after_permissions: 0o755 }),
];

describe("changes", () => {
  it("are one line each, aligned, and counted", () => {
    expect(changeLines(CHANGES, plain)).toEqual([
      "  + a.txt   2 KiB",
      "  ~ b.txt   -20 B",
      "  - c/      folder",
      "  m run.sh  0644 → 0755",
    ]);
    expect(countsOf(CHANGES)).toBe("1 created, 1 modified, 1 deleted, 1 permissions changed");
    expect(countsOf([])).toBe("nothing");
  });

  it("show renamed files as one, and changed lines instead of sizes", () => {
    const long = `${"folder/".repeat(9)}file`;
    const renamed = (from: string, path: string, similarity: number): ChangeShape[] => [
      change(from, "deleted", { renamed_to: path }),
      change(path, "created", { from, similarity, ...(similarity === 100 ? {} : { lines: { added: 1, removed: 2 } }) }),
    ];
    const changes = [
      change("a", "modified", { size_delta: 0, lines: { added: 3, removed: 1 } }),
      ...renamed("b", "c", 100),
      ...renamed("d", long, 93),
    ];
    expect(changeLines(changes, plain)).toEqual([
      "  ~ a      +3 −1",
      "  r b → c  same content",
      `  r d → ${long}  93 % the same, +1 −2`,
    ]);
    expect(countsOf(changes)).toBe("1 modified, 2 renamed");
  });

  it("are cut after `most` lines, and the rest is counted", () => {
    const many = Array.from({ length: 12 }, (_, i) => change(`f${i}`, "created"));
    expect(changeLines(many, { ...plain, most: 10 })).toHaveLength(11);
    expect(changeLines(many, { ...plain, most: 10 }).at(-1)).toBe("  … and 2 more");
    expect(changeLines(many, { ...plain, most: 11 })).toHaveLength(12);
  });

  it("have colours only where they are wanted", () => {
    expect(changeLines(CHANGES, { ...plain, paint: paintFor(true) }).join("")).toContain("\u001b[32m+\u001b[39m");
    expect(changeLines(CHANGES, plain).join("")).not.toContain("\u001b");
  });
});

describe("coverage", () => {
  it("counts the paths that were left out on purpose, and lists the paths that could not be recorded", () => {
    const omitted = [
      { path: "node_modules", reason: "excluded" },
      { path: "pipe", reason: "special" },
    ];
    const missing = { path: "secret", reason: "unreadable", detail: "EACCES" };
    expect(coverageLines({ complete: true, omitted }, plain)).toEqual([
      "complete; 2 paths left out on purpose: node_modules, pipe (special)",
    ]);
    expect(coverageLines({ complete: false, omitted: [...omitted, missing] }, plain)).toEqual([
      "partial: 1 path not recorded; 2 paths left out on purpose: node_modules, pipe (special)",
      "  ! secret (unreadable: EACCES)",
    ]);
  });
});

const SESSION: SessionShape = {
  session_id: "0198",
  kind: "run",
  actor: "human",
  started: "2026-01-01T00:00:00.000Z",
  ended: null,
  command: ["sh"],
  tracked_paths: [],
  exit_code: 0,
  signal: null,
  snapshot_count: 1,
  merkle_roots: [],
  network_events: [],
  notes: [],
  state: "ended",
  from_seq: 1,
  to_seq: 2,
  changed: 4,
};

function runShape(more: Partial<RunShape>): RunShape {
  const coverage: CoverageShape = { complete: true, omitted: [] };
  const back = { undo_id: "u", rolled_back: false, not_rolled_back: null };
  const base = { exit_code: 0, signal: null, not_recorded: null, ...back, skipped: [], conflicts: [], ambiguous: [] };
  return { session: SESSION, changes: CHANGES, coverage, ...base, ...more };
}

describe("the summary of a run", () => {
  const brief = { paint: paintFor(false), forPeople: false, worded: (text: string) => text };

  it("is one line for a log", () => {
    expect(runSummary(runShape({}), brief)).toEqual([
      "chronicle: 4 changes (1 created, 1 modified, 1 deleted, 1 permissions changed). Take back: chronicle undo",
    ]);
    expect(runSummary(runShape({ changes: [], undo_id: null }), brief)).toEqual(["chronicle: nothing tracked changed"]);
  });

  it("says what undo would undo if the run changed nothing, and which paths were not covered", () => {
    const omitted = [".env", "a", "b", "c", "d", "e", "f"].map((path) => ({ path, reason: "excluded" }));
    const result = runShape({ changes: [], undo_id: null, coverage: { complete: true, omitted } });
    expect(runSummary(result, { ...brief, forPeople: true, undoTakes: "rm -rf src" })).toEqual([
      "chronicle: nothing tracked changed (undo would take back what was done before: rm -rf src)",
      "not covered (excluded), and not taken back: .env, a, b, c, d and 2 more",
    ]);
  });

  it("names the paths that either of two simultaneous runs may have changed, instead of saying that nothing changed", () => {
    const result = runShape({ changes: [], undo_id: null, ambiguous: ["a", "b", "c", "d"] });
    expect(runSummary(result, brief)).toEqual([
      "chronicle: nothing changed that certainly belongs to this run",
      "chronicle: 4 paths changed while another run was going on in this folder too, and either run may have changed them: " +
        "a, b, c and 1 more. undo leaves them alone; chronicle restore seq:1 PATH restores a path",
    ]);
  });

  it("is at most three lines for a log, whatever happened", () => {
    const omitted = Array.from({ length: 9 }, (_, i) => ({ path: `p${i}`, reason: "unreadable" }));
    const left = { reason: "they could not be changed", paths: ["x"], hint: "chronicle restore seq:1 PATH..." };
    const back = { undo_id: null, not_rolled_back: left, exit_code: 3 };
    const lines = runSummary(runShape({ coverage: { complete: false, omitted }, ...back, ambiguous: ["y"] }), brief);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("partly taken back");
    expect(lines[1]).toMatch(/WARNING: 9 paths could not be recorded/);
    expect(lines[2]).toBe(
      "chronicle: NOT rolled back: x (they could not be changed; the command failed with exit code 3). " +
        "Next: chronicle restore seq:1 PATH...",
    );
  });

  it("does not offer undo for a transaction that is still active", () => {
    const left = { reason: "full", paths: ["x"], hint: "chronicle transaction rollback 0198" };
    const [first] = runSummary(runShape({ not_rolled_back: left, exit_code: 3 }), brief);
    expect(first).toMatch(/^chronicle: 4 changes \(.*\), not taken back$/);
    const open = { reason: "its transaction could not be committed (full)", hint: "chronicle transaction commit 0198" };
    for (const forPeople of [false, true]) {
      const lines = runSummary(runShape({ not_committed: open }), { ...brief, forPeople });
      expect(lines.join("\n")).not.toContain("Take back");
      expect(lines.join("\n")).toContain(
        "NOT committed: the command succeeded, but its transaction could not be committed (full). " +
          "To keep what it changed: chronicle transaction commit 0198",
      );
    }
  });

  it("names the copies of what others wrote during the rollback, once", () => {
    const conflicts = [{ path: "live", kept_at: "live.conflict-01234567" }];
    const paths = ["live.conflict-01234567"];
    const left = { reason: "kept beside", paths, hint: "compare them" };
    const back = { undo_id: null, exit_code: 3, conflicts };
    expect(runSummary(runShape({ ...back, not_rolled_back: left }), brief).slice(1)).toEqual([
      "chronicle: NOT rolled back: live.conflict-01234567 (kept beside; the command failed with exit code 3). Next: compare them",
    ]);
    const other = { ...left, paths: ["x"] };
    expect(runSummary(runShape({ ...back, not_rolled_back: other }), brief).slice(2)).toEqual([
      "chronicle: files were written to while they were taken back, and copies of what was written are kept beside them: live.conflict-01234567",
    ]);
    const full = runSummary(runShape({ ...back, not_rolled_back: other }), { ...brief, forPeople: true });
    expect(full).toContain("  live → live.conflict-01234567");
    expect(full).toContain("compare each copy with its file, and remove the copies that you do not need");
  });

  it("names ten paths for people, and the command that shows the rest", () => {
    const many = Array.from({ length: 30 }, (_, i) => change(`f${i}`, "created"));
    const lines = runSummary(runShape({ changes: many }), { ...brief, forPeople: true });
    expect(lines).toHaveLength(13);
    expect(lines.at(-1)).toContain("chronicle show 0198");
  });
});

describe("patches", () => {
  const patch = "--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n+b\u001b[2J\n+--- c\n";
  const text = change("x", "modified", { patch });

  it("stay as they are for programs, and cannot move the cursor for people", () => {
    expect(patchLines([text], { paint: paintFor(false), escape: false }).join("\n")).toBe(patch.trimEnd());
    const shown = patchLines([text], { paint: paintFor(false), escape: true }).join("\n");
    expect(shown).toContain("+b\\e[2J");
    expect(shown).not.toContain("\u001b");
  });

  it("say that a file is binary, or that only its permissions changed, if there is no text to compare", () => {
    const style = { paint: paintFor(false), escape: false };
    expect(patchLines([change("x.png", "modified", { binary: true })], style)).toEqual([
      "diff --git a/x.png b/x.png",
      "index 0000000..0000000 100644",
      "Binary files a/x.png and b/x.png differ",
    ]);
    expect(patchLines([CHANGES[3] ?? text], style)).toEqual(["# run.sh: permissions changed 0644 → 0755"]);
  });

  it("are counted by lines", () => {
    expect(statLines([text], plain)).toEqual(["  x  +2  -1"]);
  });

  it("that are missing have the reason in place of the counts", () => {
    const why = (more: Partial<ChangeShape>): string | undefined =>
      statLines([change("x", "modified", more)], plain)[0]
        ?.trim()
        .replace(/^x +/, "");
    expect(why({ binary: true })).toBe("binary");
    expect(why({ too_large: true })).toBe("too large");
    expect(why({ protected: true })).toBe("protected");
    expect(why({ erased: true })).toBe("erased");
    expect(why({ pruned: true })).toBe("pruned");
    expect(why({ no_room: true })).toBe("not counted");
    expect(why({})).toBe("modified");
  });

  it("colour an added or removed line as such, even if it looks like a header", () => {
    const paint = (format: unknown, given: string): string => `${String(format)} ${given}`;
    const shown = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,1 +1,1 @@\n--- comment\n+++ i\n";
    expect(patchText(shown + shown, { paint, escape: false }).slice(6)).toEqual([
      "bold diff --git a/x b/x",
      "bold --- a/x",
      "bold +++ b/x",
      "cyan @@ -1,1 +1,1 @@",
      "red --- comment",
      "green +++ i",
    ]);
  });
});

describe("text from elsewhere", () => {
  it("cannot move the cursor, hide or add lines", () => {
    expect(printable("a\nb\t\u001b[31mc\u202e\u0000")).toBe("a\\nb\\t\\e[31mc\\u{202e}\\u{0}");
    expect(printableText("a\n\tb\r\u001b")).toBe("a\n\tb\\r\\e");
    expect(printable("ünï 文 😀")).toBe("ünï 文 😀");
  });

  it("shows commands as they could be typed", () => {
    expect(shownCommand(["sh", "-c", "echo 'a b' > c"])).toBe(`sh -c 'echo '\\''a b'\\'' > c'`);
    expect(shownCommand([])).toBe("");
  });
});

describe("small helpers", () => {
  it("aligns columns, without spaces at the end", () => {
    expect(columns([["a", "1"], ["bbb", "22"], ["c"]], "<>")).toEqual(["a     1", "bbb  22", "c"]);
    expect(columns([["\u001b[31mab\u001b[39m", "x"]])).toEqual(["\u001b[31mab\u001b[39m  x"]);
  });

  it("finds the names that are closest to a mistyped one", () => {
    expect(distance("kitten", "sitting")).toBe(3);
    expect(distance("stauts", "status")).toBe(1);
    expect(closestTo("src/mian.ts", ["src/main.ts", "src/math.ts", "README.md"], 1)).toEqual(["src/main.ts"]);
    expect(closestTo("xyz", ["status"], 3)).toEqual([]);
  });

  it("writes lists of any length as one document", () => {
    for (const value of [[], [1], [{ a: 1 }, { b: [2] }], { a: 1 }, null]) {
      let text = "";
      writeJson(value, (piece) => void (text += piece));
      expect(JSON.parse(text)).toEqual(value);
      expect(text.endsWith("\n")).toBe(true);
    }
  });
});
