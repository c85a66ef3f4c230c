import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const REPO = join(import.meta.dirname, "../..");
const HEADING = "## What goes wrong, and what happens then";

/** The rows of that table: what goes wrong, what happens, and the files of tests. */
function rows(): readonly { readonly what: string; readonly files: readonly string[] }[] {
  const [, after = ""] = readFileSync(join(REPO, "docs/replication.md"), "utf8").split(HEADING);
  const [section = ""] = after.split("\n## ");
  const lines = section.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| what goes wrong"));
  return lines.map((line) => {
    const [what = "", , tests = ""] = line.slice("| ".length, -" |".length).split(" | ");
    return { what, files: [...tests.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file) };
  });
}

describe("the table of what goes wrong", () => {
  it("has a row for each of the 24 kinds of failure, and each row names test files", () => {
    expect(rows()).toHaveLength(24);
    expect(rows().filter(({ files }) => files.length === 0)).toEqual([]);
  });

  it.each(rows().map(({ what, files }) => [what.slice(0, 60), files] as const))("%s …", (_, files) => {
    for (const file of files) {
      expect(existsSync(join(REPO, file)), file).toBe(true);
      expect(readFileSync(join(REPO, file), "utf8"), file).toMatch(/\b(it|test)(\.each|\()/);
    }
  });
});
