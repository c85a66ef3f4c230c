import { describe, expect, it } from "vitest";
import { encodeConflict, type ConflictRecord } from "../../core/records/conflict-record.ts";
import type { Entry } from "../../core/values/entry.ts";
import { encodeErase } from "../../core/records/erase-record.ts";
import type { EventDraft, LogEvent } from "../../core/values/event.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import { encodePrune } from "../../core/records/prune-record.ts";
import type { KeptStates } from "../../core/tree/kept-states.ts";
import { encodeIntent, type IntentRecord } from "../../core/records/records.ts";
import { versionDraft } from "../../core/records/write-back.ts";
import { replicaRecord } from "../../testing/replica-rig.ts";
import { HistoryNeeds } from "./history-needs.ts";

const file = (text: string): Entry => ({
  path: "a" as Entry["path"],
  kind: "file",
  mode: 0o644,
  size: text.length,
  mtimeMs: 1,
  hash: sha256(text),
});

function needsOf(drafts: readonly (EventDraft | undefined)[], pruning?: KeptStates): ReadonlySet<Hash> {
  const needed = new Set<Hash>();
  const needs = new HistoryNeeds({ pruning }, ({ hash }) => needed.add(hash));
  drafts.forEach((draft, i) => {
    if (draft !== undefined) needs.event({ ...draft, seq: i + 1 } as LogEvent, "");
  });
  needs.finish();
  return needed;
}

describe("the content of a rejected write of a replica", () => {
  const version = versionDraft({
    replica: "r",
    localSeq: 3,
    path: "a" as Entry["path"],
    entry: file("lost"),
    seen: 1,
    against: 2,
    actor: "agent",
  });
  const other = { op: "upsert", recordId: "user:x", record: {} } as const;
  const history = [other, version, other, other];
  const inBase = { ...version, op: "upsert", seq: 2, ts: "2030-01-01T00:00:00.000Z" } as const;

  it.each<[string, KeptStates | undefined, boolean]>([
    ["is needed if nothing is pruned", undefined, true],
    ["is needed after the floor", { floorSeq: 1, kept: [] }, true],
    ["is needed by the floor's own state", { floorSeq: 2, kept: [] }, true],
    ["is not needed below the floor", { floorSeq: 3, kept: [] }, false],
    ["is needed by its kept state", { floorSeq: 4, kept: [2] }, true],
    ["is not needed by another kept state", { floorSeq: 4, kept: [1, 3] }, false],
  ])("%s", (_name, pruning, isNeeded) => {
    expect(needsOf(history, pruning).has(sha256("lost"))).toBe(isNeeded);
  });

  it.each<[string, KeptStates | undefined, boolean]>([
    ["is needed if nothing is pruned", undefined, true],
    ["is needed by its kept state", { floorSeq: 4, kept: [2] }, true],
    [
      "is not needed below the floor, because a compaction does not bring back freed contents",
      { floorSeq: 3, kept: [] },
      false,
    ],
  ])("in the base of a later compaction it %s", (_name, pruning, isNeeded) => {
    const needed = new Set<Hash>();
    const needs = new HistoryNeeds({ pruning }, ({ hash }) => needed.add(hash));
    const event = { ...other, seq: 9 } as unknown as LogEvent;
    needs.event(event, "");
    needs.rows({ records: [inBase] }, event, "");
    needs.finish();
    expect(needed.has(sha256("lost"))).toBe(isNeeded);
  });

  it("in a base it is not needed after a pruning whose line was dropped with the archive", () => {
    const needed = new Set<Hash>();
    const needs = new HistoryNeeds({}, ({ hash }) => needed.add(hash));
    const event = { ...other, seq: 9 } as unknown as LogEvent;
    const given = { floorSeq: 5, kept: [], keptActions: [], actions: 0, snapshots: 0, pendingBytes: 0 };
    const prune = encodePrune({ ...given, cause: "asked", actor: "human" });
    needs.event(event, "");
    needs.rows({ records: [inBase, { ...inBase, recordId: "prune:w", seq: 6, record: prune }] }, event, "");
    needs.finish();
    expect(needed.has(sha256("lost"))).toBe(false);
  });
});

it("in a base, an erasure applies to the rows and records before it, even to those that are read first", () => {
  const needed = new Set<Hash>();
  const needs = new HistoryNeeds({}, ({ hash }) => needed.add(hash));
  const event = { op: "compact", recordId: "compact:w", record: {}, seq: 9 } as unknown as LogEvent;
  const [ts, at] = ["2030-01-01T00:00:00.000Z", "2030-01-01T00:00:00.000Z"];
  const erased = encodeErase({
    ...{ state: "erased", asked: { path: "a" }, reason: undefined, actor: "human", at, until: at },
    contents: [sha256("file"), sha256("outside")].sort(),
  });
  const record = (recordId: string, seq: number, body: LogEvent["record"]) =>
    ({ op: "upsert", recordId, seq, ts, record: body }) as const;
  needs.event(event, "");
  needs.rows({ entries: [{ path: file("").path, iteration: 1, seq: 4, entry: file("file") }] }, event, "");
  needs.rows({ entries: [{ path: "b" as Entry["path"], iteration: 1, seq: 7, entry: file("later") }] }, event, "");
  const outside = { state: null, hash: sha256("outside") };
  needs.rows({ records: [record("erase:x", 6, erased), record("outside:/etc/x", 5, outside)] }, event, "");
  needs.finish();
  expect(needed).toEqual(new Set([sha256("later")]));
});

it("the contents that a step of a replica writes are needed until the step is done", () => {
  const intent: IntentRecord = {
    kind: "replica",
    state: "open",
    summary: "",
    actor: "human",
    started: "2030-01-01T00:00:00.000Z",
    paths: 1,
    fromSeq: 0,
    replica: replicaRecord(),
    changes: [{ path: "a" as Entry["path"], before: undefined, after: file("new") }],
  };
  const draft = (record: IntentRecord): EventDraft => ({
    op: "upsert",
    recordId: "intent:x",
    record: encodeIntent(record),
  });
  expect(needsOf([draft(intent)])).toEqual(new Set([sha256("new")]));
  const { changes: _changes, ...done } = intent;
  expect(needsOf([draft(intent), draft({ ...done, state: "done" })])).toEqual(new Set());
});

it("the origin's side of a blocked conflict is not needed, because it may never have come", () => {
  const sync = { origin: "o", baseSeq: 1, upstreamSeq: 2 };
  const sides = { base: file("base"), current: file("current"), wanted: file("wanted") };
  const record = { path: "a", state: "open", undo: "", met: "2030-01-01T00:00:00.000Z", sync, ...sides } as const;
  const needed = (reason: ConflictRecord["reason"]): ReadonlySet<Hash> =>
    needsOf([{ op: "upsert", recordId: "conflict:x", record: encodeConflict({ ...record, reason } as never) }]);
  expect(needed("content")).toEqual(new Set([sha256("base"), sha256("current"), sha256("wanted")]));
  expect(needed("blocked")).toEqual(new Set([sha256("base"), sha256("current")]));
});
