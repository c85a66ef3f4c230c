import { expect, it } from "vitest";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { FinishedIntent } from "../capture/operate.ts";
import { finishedNotes, settledNotes } from "./before-change.ts";

function finished(name: string, more: Partial<FinishedIntent> = {}): FinishedIntent {
  const path = name as WorkspacePath;
  const entry = { path, kind: "dir", mode: 0o755, size: 0, mtimeMs: 0, hash: undefined } as const;
  const intent = {
    kind: "write",
    state: "open",
    summary: `write ${name}`,
    actor: "a",
    started: "",
    paths: 1,
    fromSeq: 1,
  } as const;
  const changes = [{ path, before: undefined, after: entry }];
  return { id: name, intent, state: "done", changes, blocked: [], conflicts: [], ...more };
}

const names = Array.from({ length: 50 }, (_, i) => `f${i}`);

it("notes each of a few interrupted writes", () => {
  const before = { finished: names.slice(0, 3).map((name) => finished(name)), closed: [] };
  expect(settledNotes(before)).toEqual(
    names.slice(0, 3).map((name) => `finished the interrupted write ${name} (1 path)`),
  );
});

it("counts many interrupted writes in one note, but notes each write that left a file alone", () => {
  const left = finished("kept", {
    changes: [],
    blocked: [{ path: "kept" as WorkspacePath, reason: "changed", detail: "it was edited since" }],
  });
  const before = { finished: [...names.map((name) => finished(name)), left], closed: [] };
  expect(settledNotes(before)).toEqual([
    "finished the interrupted write kept (0 paths; left alone (edited since): kept)",
    "finished 50 interrupted writes (50 paths); the first: write f0",
  ]);
  expect(finishedNotes(before, true)).toContain(
    "would first finish 50 interrupted writes (50 paths); the first: write f0",
  );
});
