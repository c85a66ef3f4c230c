import { describe, expect, it } from "vitest";
import { sha256 } from "../values/hash.ts";
import { parsePath } from "../values/path.ts";
import {
  contentsOfVersion,
  decodeVersion,
  decodeWriteBack,
  versionDraft,
  writeBackDraft,
  type VersionRecord,
  type WriteBackRecord,
} from "./write-back.ts";

const RECORD: WriteBackRecord = {
  settled: 9,
  accepted: [{ localSeq: 3, iteration: 2, sequence: 17 }],
  rejected: [
    { localSeq: 5, reason: "filtered" },
    { localSeq: 7, reason: "stale", currentSequence: 12, kept: { contentHash: sha256("a") } },
    { localSeq: 9, reason: "stale", currentSequence: 0, kept: { contentHash: null } },
  ],
  going: [9],
};

const PATH = parsePath("dir/a");
const ENTRY = { path: PATH, kind: "file", mode: 0o644, size: 1, mtimeMs: 5, hash: sha256("a") } as const;
const VERSION: VersionRecord = {
  replica: "r1",
  localSeq: 7,
  path: PATH,
  entry: ENTRY,
  seen: 4,
  against: 12,
  actor: "agent",
  session: "s",
  turn: "t",
  action: "x",
};

describe("the answers to a replica", () => {
  it.each([
    ["every field", RECORD],
    ["no answer", { settled: 1, accepted: [], rejected: [], going: [] }],
  ])("with %s are decoded as they were encoded", (_, record) => {
    const { op, recordId, record: body } = writeBackDraft("r1", record);
    expect([op, recordId, decodeWriteBack(body)]).toEqual(["upsert", "writeback:r1", record]);
  });

  it.each([
    ["a settled seq that is a text", { settled: "9" }],
    ["an accepted entry of two numbers", { accepted: [[1, 2]] }],
    ["an accepted entry with a text", { accepted: [[1, 2, "3"]] }],
    ["a rejected entry without a reason", { rejected: [{ local_seq: 1 }] }],
    ["a kept content that is no hash", { rejected: [{ local_seq: 1, reason: "stale", kept: { content_hash: "x" } }] }],
    ["a going seq that is a text", { going: ["1"] }],
  ])("are reported as damage with %s", (_, wrong) => {
    const { record } = writeBackDraft("r1", RECORD);
    expect(() => decodeWriteBack({ ...record, ...wrong })).toThrow(expect.objectContaining({ code: "LOG_DAMAGED" }));
  });
});

describe("a version", () => {
  it.each<[string, VersionRecord]>([
    ["every field", VERSION],
    [
      "a deletion by somebody without a session",
      { replica: "r1", localSeq: 1, path: PATH, entry: undefined, seen: 0, against: 0, actor: "a" },
    ],
  ])("with %s is decoded as it was encoded", (_, version) => {
    const { recordId, record } = versionDraft(version);
    expect([recordId, decodeVersion(record)]).toEqual([`version:r1:${version.localSeq}`, version]);
  });

  it("needs its content", () => {
    expect(contentsOfVersion(VERSION)).toEqual([sha256("a")]);
    expect(contentsOfVersion({ ...VERSION, entry: undefined })).toEqual([]);
  });
});
