import { describe, expect, it } from "vitest";
import type { RecordingShape, WorkspaceShape } from "../../../src/api/shapes.ts";
import type { SyncShape } from "../../../src/api/sync-api.ts";
import { doctorMatters, mattersOf, ranked, syncMatters } from "./attention.ts";

const NOW = Date.parse("2026-01-05T10:00:00Z");

const shape = (more: Partial<WorkspaceShape> = {}): WorkspaceShape => ({
  ...{ id: "w", path: "/home/me/my app", roots: [], seq: 9, created: "2026-01-01T00:00:00Z" },
  ...{ last_event: "2026-01-05T09:00:00Z", present: true, ...more },
});

const recording = (state: RecordingShape["state"], by: RecordingShape["by"] = []): RecordingShape => ({
  ...{ state, by, reason: null, hint: null },
});

describe("what needs a person in a workspace", () => {
  it("is nothing where all is well", () => {
    const check = { at: "2026-01-05T09:00:00Z", problems: 0, isQuick: false };
    const replicas = [{ id: "r", seq: 9, lag: 0 }];
    const known = { shape: shape(), recording: recording("everything"), conflicts: 0, replicas, check };
    expect(mattersOf(known, NOW)).toEqual([]);
  });

  it("is a watcher that is off, only where somebody has worked lately, with a command for just this folder", () => {
    const [matter] = mattersOf({ shape: shape(), recording: recording("nothing") }, NOW);
    expect(matter).toMatchObject({ isFault: false, command: "chronicle watch --install '/home/me/my app'" });
    const old = shape({ last_event: "2026-01-01T09:00:00Z" });
    expect(mattersOf({ shape: old, recording: recording("nothing") }, NOW)).toEqual([]);
    expect(mattersOf({ shape: shape({ archived: true }), recording: recording("nothing") }, NOW)).toEqual([]);
  });

  it("is a recorder in trouble, a folder that is gone, a history that cannot be opened, and a check with problems", () => {
    const stopped = {
      kind: "watch",
      actor: "me",
      since: null,
      pid: 7,
      trouble: "process 7 is stopped",
      hint: "fg",
    } as const;
    const check = { at: "2026-01-05T09:00:00Z", problems: 2, isQuick: false };
    const matters = mattersOf(
      { shape: shape({ present: false, problem: "damaged" }), recording: recording("everything", [stopped]), check },
      NOW,
    );
    expect(matters.map(({ isFault, text }) => `${isFault} ${text}`)).toEqual([
      "true damaged",
      "true the last check found 2 problems",
      "true the folder is gone. Move it back, or get its files out of the history into another folder:",
      "true process 7 is stopped",
    ]);
  });

  it("is conflicts, and replicas that are behind", () => {
    const replicas = [
      { id: "a", seq: 1, lag: 8 },
      { id: "b", seq: 9, lag: 0 },
    ];
    expect(mattersOf({ shape: shape(), conflicts: 1, replicas }, NOW).map(({ text }) => text)).toEqual([
      "1 conflict is not settled",
      "1 replica is behind, by up to 8 events",
    ]);
  });
});

it("a halted sync is a fault with its next step; one that is in sync is nothing", () => {
  const sync = (more: Partial<SyncShape>): SyncShape =>
    ({
      id: "w",
      folder: "/f",
      upstream: "u",
      state: "in-sync",
      conflicts: 0,
      lag: 0,
      pending: 0,
      ...more,
    }) as SyncShape;
  expect(syncMatters([sync({})])).toEqual([]);
  expect(syncMatters([sync({ state: "halted", reason: "many files are gone", hint: "decide" })])).toMatchObject([
    { isFault: true, text: "the sync waits for a decision: many files are gone", hint: "decide" },
  ]);
  expect(syncMatters([sync({ state: "paused", lag: 3, pending: 1 })])).toMatchObject([
    { text: "the sync is paused (3 events to come, 1 change to go)" },
  ]);
  expect(syncMatters([sync({ conflicts: 2 })])).toMatchObject([{ at: ["/conflicts", "Settle"] }]);
});

it("of the checks, faults and those with a next step are told, faults first and without the workspace's id", () => {
  const matters = ranked(
    doctorMatters([
      { name: "node", ok: true, detail: "Node 24" },
      { name: "kept beside", ok: true, detail: "workspace w: 95 % are used", hint: "raise it", workspace: "w" },
      { name: "key", ok: false, detail: "the key is gone", hint: "restore it" },
    ]),
  );
  expect(matters).toMatchObject([
    { isFault: true, text: "key: the key is gone", hint: "restore it" },
    { isFault: false, text: "95 % are used", workspace: "w", at: ["/space", "Where it goes"] },
  ]);
});
