import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { NodeDisk } from "../../disk/node-disk.ts";
import { FileNotes } from "./file-notes.ts";

it("removes the notes of sessions that never ended, and nothing else", () => {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-notes-"));
  const notes = new FileNotes(new NodeDisk(), folder);
  for (const session of ["old", "young"]) notes.put(session, { workspace: "/w", open: {} });
  notes.put("other", { workspace: "/w", open: {} });
  const day = 86_400;
  utimesSync(join(folder, "session-old.json"), 10 * day, 10 * day);
  notes.removeOlder(20 * day * 1000);
  expect(readdirSync(folder).toSorted()).toEqual(["session-other.json", "session-young.json"]);
  expect(notes.get("old")).toBeUndefined();
  expect(notes.get("young")).toEqual({ workspace: "/w", open: {} });
  rmSync(folder, { recursive: true });
});
