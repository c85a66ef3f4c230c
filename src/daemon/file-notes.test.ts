import { mkdtempSync, readdirSync, rmSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { SessionNote } from "../hooks/session-note.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { FileNotes, KeptNotes } from "./file-notes.ts";

it("removes old notes of sessions that never ended, and no other notes", () => {
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

/** Returns the notes of two processes. One process keeps notes in memory, and the other answers a hook meanwhile. */
function twoProcesses() {
  const folder = mkdtempSync(join(tmpdir(), "chronicle-notes-"));
  const [kept, other] = [new KeptNotes(new FileNotes(new NodeDisk(), folder)), new FileNotes(new NodeDisk(), folder)];
  const again = (): KeptNotes => new KeptNotes(new FileNotes(new NodeDisk(), folder));
  return { kept, other, again, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
}

it("takes over what another process has written meanwhile: a new turn, or the end of the session", () => {
  using processes = twoProcesses();
  const { kept, other } = processes;
  kept.put("s", { workspace: "/w", turn: "1", open: { " c1": "a1" } });
  expect(kept.get("s")).toEqual({ workspace: "/w", turn: "1", open: { " c1": "a1" } });
  other.put("s", { workspace: "/w", turn: "2", open: {} });
  expect(kept.get("s")?.turn).toBe("2");
  other.remove("s");
  expect(kept.get("s")).toBeUndefined();
});

it("writes the open calls of a session with sub-agents, because the log does not say which sub-agent began them", () => {
  using processes = twoProcesses();
  const { kept } = processes;
  const note: SessionNote = { workspace: "/w", open: { " c1": "a0" } };
  kept.put("s", note);
  note.hasLanes = true;
  for (const open of [{ "a1 b1": "a1" }, { "a1 b1": "a1", " c2": "a2" }, {}]) {
    for (const key of Object.keys(note.open)) delete note.open[key];
    Object.assign(note.open, open);
    kept.put("s", note);
    expect(processes.again().get("s")).toEqual(note);
  }
});

it("writes only changes of a note that the log does not have, even if they were made in place", () => {
  using processes = twoProcesses();
  const { kept, other } = processes;
  const note: SessionNote = { workspace: "/w", open: {} };
  kept.put("s", note);
  const known = kept.get("s") ?? note;
  known.turn = "met in the middle";
  kept.put("s", known);
  expect(processes.again().get("s")?.turn).toBe("met in the middle");
  known.open[" c1"] = "a1";
  kept.put("s", known);
  expect(other.get("s")?.open).toEqual({});
  expect(kept.get("s")?.open).toEqual({ " c1": "a1" });
  known.isIdle = true;
  known.unsaid = [" c1"];
  known.ends = { " c1": { outcome: "failed", reason: "exit code 1" } };
  known.doubted = { " c0": "a0" };
  kept.put("s", known);
  expect(processes.again().get("s")).toEqual(known);
});
