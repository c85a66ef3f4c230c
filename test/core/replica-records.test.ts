import { describe, expect, it } from "vitest";
import { canonicalJson } from "../../src/core/values/canonical-json.ts";
import { decodeConflict, encodeConflict, type ConflictRecord } from "../../src/core/records/conflict-record.ts";
import type { Entry } from "../../src/core/values/entry.ts";
import type { RecordBody } from "../../src/core/values/event.ts";
import { decodeFile, encodeFile, type FileRecord } from "../../src/core/values/file-record.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { parsePath, pathFromBytes } from "../../src/core/values/path.ts";
import { decodePlan, encodePlan } from "../../src/core/tree/plan.ts";
import { decodeProposal, proposalDraft, proposedPath } from "../../src/core/records/proposal-record.ts";
import { readRecord } from "../../src/core/records/read-record.ts";
import { decodeIntent, encodeIntent, type IntentRecord } from "../../src/core/records/records.ts";
import {
  decodeReplica,
  encodeReplica,
  originOfRecordId,
  replicaDraft,
  type ReplicaRecord,
} from "../../src/core/records/replica-record.ts";
import type { UpstreamChange } from "../../src/core/tree/upstream-change.ts";

/** Records of replicas: their exact form in the log, and that decoding gives the same record again. */

const path = parsePath("src/a.ts");
const hash = sha256("x");
const entry: Entry = { path, kind: "file", mode: 0o644, size: 1, mtimeMs: 7, hash };
const state = { kind: "file", mode: 420, size: 1, mtime_ms: 7, hash };

const replica: ReplicaRecord = {
  origin: "o",
  sandboxId: "s",
  url: "unix:/run/o.sock",
  workspace: "main",
  mode: "two-way-safe",
  filterTo: ["*.bin"],
  filterFrom: ["build/"],
  filteredTo: ["*.log"],
  originNames: ["there.cfg"],
  ownNames: ["here.cfg", "!other.cfg"],
  policy: "sandbox",
  debounceMs: 80,
  applied: 12,
  settled: 34,
  folder: { dev: "66306", ino: "18446744073709551615" },
  paused: true,
  halted: { reason: "mass-deletion", detail: "51 of 60" },
};

const replicaBody = {
  origin: "o",
  sandbox_id: "s",
  url: "unix:/run/o.sock",
  workspace: "main",
  mode: "two-way-safe",
  filter_to: ["*.bin"],
  filter_from: ["build/"],
  filtered_to: ["*.log"],
  origin_names: ["there.cfg"],
  own_names: ["here.cfg", "!other.cfg"],
  policy: "sandbox",
  debounce_ms: 80,
  applied: 12,
  settled: 34,
  folder: { dev: "66306", ino: "18446744073709551615" },
  paused: true,
  halted: { reason: "mass-deletion", detail: "51 of 60" },
};

describe("replica:<origin>", () => {
  it("has an exact form with all fields", () => {
    expect(encodeReplica(replica)).toEqual(replicaBody);
    expect(decodeReplica(replicaBody)).toEqual(replica);
    expect(replicaDraft(replica)).toEqual({ op: "upsert", recordId: "replica:o", record: replicaBody });
    expect([originOfRecordId("replica:o"), originOfRecordId("file:replica:o")]).toEqual(["o", undefined]);
  });

  it("has an exact form with the required fields only", () => {
    const { workspace: _1, policy: _2, debounceMs: _3, folder: _4, paused: _5, halted: _6, ...others } = replica;
    const { filteredTo: _7, originNames: _8, ownNames: _9, ...least } = others;
    const body = encodeReplica({ ...least, paused: false, stopped: false });
    expect(Object.keys(body).toSorted()).toEqual(
      ["applied", "filter_from", "filter_to", "mode", "origin", "sandbox_id", "settled", "url"].toSorted(),
    );
    expect(decodeReplica(body)).toEqual(least);
  });

  it.each(Object.keys(replicaBody))("is damaged if %s has another type", (key) => {
    expect(() => decodeReplica({ ...replicaBody, [key]: key === "applied" ? "1" : 1.5 })).toThrow(
      "not what it should be",
    );
  });

  it("is damaged if the mode is unknown", () => {
    expect(() => decodeReplica({ ...replicaBody, mode: "both" })).toThrow('mode is "both"');
  });
});

describe("proposal:<path>", () => {
  it.each([
    ["proposal:file:src/a.ts", path],
    ["proposal:file64:/w==", pathFromBytes(Buffer.from([0xff]))],
  ])("%s", (recordId, of) => {
    expect(proposalDraft({ path: of, iteration: 3 })).toEqual({ op: "upsert", recordId, record: { iteration: 3 } });
    expect(proposedPath(recordId)).toBe(of);
    expect(decodeProposal(of, { iteration: 3 })).toEqual({ path: of, iteration: 3 });
  });

  it("must name a path", () => {
    expect(proposedPath("file:proposal:x")).toBeUndefined();
    expect(() => readRecord("proposal:user:x", { iteration: 1 })).toThrow("about no path");
    expect(() => proposedPath("proposal:file:../x")).toThrow();
  });
});

const changes: UpstreamChange[] = [
  {
    path,
    before: undefined,
    after: entry,
    by: { actor: "ada", session: "s", turn: "t", action: "a" },
    upstream: { seq: 9, iteration: 2 },
    base: { entry, seq: 4 },
  },
  { path: parsePath("src/b.ts"), before: entry, after: undefined, cause: "merge" },
].map((one) => ({ ...one, before: one.before && { ...one.before, path: one.path } })) as UpstreamChange[];

const changesBody = [
  {
    path: "src/a.ts",
    before: null,
    after: state,
    by: { actor: "ada", session: "s", turn: "t", action: "a" },
    upstream: { seq: 9, iteration: 2 },
    base: { entry: state, seq: 4 },
  },
  { path: "src/b.ts", before: state, after: null, cause: "merge" },
];

describe("changes on their way into a folder", () => {
  it("have an exact form in a plan", () => {
    const bytes = encodePlan(changes);
    expect(bytes.toString()).toBe(canonicalJson(changesBody));
    expect(decodePlan(bytes)).toEqual(changes);
  });

  it("are damaged if the cause is unknown", () => {
    const wrong = canonicalJson([{ ...changesBody[1], cause: "write" }] as never);
    expect(() => decodePlan(Buffer.from(wrong))).toThrow('cause is "write"');
  });

  it("have an exact form in an intent", () => {
    const intent: IntentRecord = {
      kind: "replica",
      state: "open",
      summary: "sync",
      actor: "human",
      started: "2030-01-01T00:00:00.000Z",
      paths: 2,
      fromSeq: 5,
      changes,
      replica,
      proposals: [path],
    };
    const body = encodeIntent(intent);
    expect(body).toEqual({
      kind: "replica",
      state: "open",
      summary: "sync",
      actor: "human",
      started: "2030-01-01T00:00:00.000Z",
      paths: 2,
      from_seq: 5,
      changes: changesBody,
      replica: replicaBody,
      proposals: [{ path: "src/a.ts" }],
    });
    expect(decodeIntent(body)).toEqual(intent);
  });
});

describe("conflict:<id> of a sync", () => {
  const record: ConflictRecord = {
    path,
    state: "open",
    reason: "blocked",
    undo: "",
    sync: { origin: "o", baseSeq: 3, upstreamSeq: 8, since: 5, detail: "not-permitted: EACCES" },
    met: "2030-01-01T00:00:00.000Z",
    base: entry,
    current: undefined,
    wanted: entry,
  };
  const body = {
    path: "src/a.ts",
    state: "open",
    reason: "blocked",
    cause: "sync",
    origin: "o",
    base_seq: 3,
    upstream_seq: 8,
    since: 5,
    detail: "not-permitted: EACCES",
    met: "2030-01-01T00:00:00.000Z",
    base: state,
    current: null,
    wanted: state,
  };

  it("has an exact form", () => {
    expect(encodeConflict(record)).toEqual(body);
    expect(decodeConflict(body)).toEqual(record);
  });

  it.each(["origin", "base_seq", "upstream_seq"])("is damaged without %s", (key) => {
    const { [key]: _, ...rest } = body as RecordBody;
    expect(() => decodeConflict(rest)).toThrow(key);
  });
});

describe("file:<path>", () => {
  const bare = { entry, iteration: 2, actor: "ada" };
  const body = { ...state, iteration: 2, actor: "ada" };

  it.each<[string, FileRecord, RecordBody]>([
    [
      "at a replica, with the event of the origin",
      { ...bare, cause: "replica", session: "s", turn: "t", action: "a", upstream: { seq: 9, iteration: 4 } },
      { ...body, cause: "replica", session: "s", turn: "t", action: "a", upstream: { seq: 9, iteration: 4 } },
    ],
    [
      "at an origin, with the event of the replica",
      { ...bare, cause: "replica", replica: { id: "r", localSeq: 6 } },
      { ...body, cause: "replica", replica: { id: "r", local_seq: 6 } },
    ],
    ["of a merge", { ...bare, cause: "merge" }, { ...body, cause: "merge" }],
  ])("%s", (_name, record, encoded) => {
    expect(encodeFile(record)).toEqual(encoded);
    expect(decodeFile(path, encoded)).toEqual(record);
  });
});

it("readRecord checks each kind of record by its own rules", () => {
  expect(() => readRecord("replica:other", replicaBody)).toThrow("another origin");
  expect(() => readRecord("replica:o", replicaBody)).not.toThrow();
  expect(() => readRecord("conflict:x", { cause: "sync" })).toThrow("not what it should be");
  expect(() => readRecord("user:anything", { applied: "x" })).not.toThrow();
});
