import { expect, it } from "vitest";
import { decodeConflict, encodeConflict, type ConflictRecord } from "./conflict-record.ts";
import type { Entry } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import { pathFromBytes } from "../values/path.ts";
import { decodeIntent, encodeIntent, type IntentRecord } from "./records.ts";

const path = pathFromBytes(Buffer.from([0x61, 0xff]));
const state = (text: string): Entry => ({
  path,
  kind: "file",
  mode: 0o644,
  size: text.length,
  mtimeMs: 5,
  hash: sha256(text),
});
const conflict: ConflictRecord = {
  path,
  state: "open",
  reason: "content",
  undo: "u1",
  met: "2030-01-01T00:00:00.000Z",
  base: state("b"),
  current: state("c"),
  wanted: undefined,
};

it("an open and a settled conflict are decoded as they were encoded", () => {
  expect(decodeConflict(encodeConflict(conflict))).toEqual(conflict);
  const settled: ConflictRecord = { ...conflict, state: "settled", settled: "merged" };
  expect(decodeConflict(encodeConflict(settled))).toEqual(settled);
  expect(() => decodeConflict({ ...encodeConflict(conflict), current: 3 })).toThrow(/not/);
});

it("an intent keeps its selection, the work that it undoes, and its conflicts", () => {
  const intent: IntentRecord = {
    kind: "undo",
    state: "open",
    summary: "undo of turn t",
    actor: "human",
    started: conflict.met,
    plan: sha256("plan"),
    paths: 2,
    fromSeq: 9,
    selection: "turn t",
    takes: ["a", "b"],
    took: [
      [3, 5],
      [8, 8],
    ],
    left: [path],
    parts: [{ path, took: [[3, 4]] }],
    contents: [sha256("new")],
    conflicts: [{ id: "c1", record: conflict }],
  };
  expect(decodeIntent(encodeIntent(intent))).toEqual(intent);
});
