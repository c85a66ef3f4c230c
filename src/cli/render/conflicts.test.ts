import { describe, expect, it } from "vitest";
import type { ConflictShape } from "../../api/conflict-shape.ts";
import { conflictLines } from "./conflicts.ts";

/** Tests the texts about conflicts that people see. */

const style = { paint: (_format: unknown, text: string): string => text, shown: (path: string): string => path };

const conflict = {
  ...{ id: "0fd1a2b3-0000-4000-8000-000000000000", path: "a", cause: "sync", reason: "content", state: "open" },
  ...{ current_kind: "file", current_size: 3, undo_kind: "file", undo_size: 4 },
} as ConflictShape;

describe("conflicts of a sync", () => {
  it("say what both sides changed: lines of a file, or where a link leads", () => {
    const link = { ...conflict, path: "link", current_kind: "symlink", undo_kind: "symlink" } as ConflictShape;
    expect(conflictLines([conflict, link], style)).toEqual([
      "  ! 0fd1a2b3 a     both edited the same or adjacent lines  here 3 B, upstream 4 B",
      "  ! 0fd1a2b3 link  both made the link lead elsewhere       here a link, upstream a link",
    ]);
  });

  it("a long name has a line of its own, and does not widen the lines of other conflicts", () => {
    const long = "x".repeat(200);
    const [first, second] = conflictLines([conflict, { ...conflict, path: long }], style);
    expect(first).toBe("  ! 0fd1a2b3 a  both edited the same or adjacent lines  here 3 B, upstream 4 B");
    expect(second?.split("\n")).toEqual([
      `  ! 0fd1a2b3 ${long}`,
      "                both edited the same or adjacent lines  here 3 B, upstream 4 B",
    ]);
  });
});
