import { expect, it } from "vitest";
import { recordingShape, withRecorders, withSync } from "./recording.ts";
import type { RecorderShape } from "./shapes.ts";

const base = { actor: null, since: "2030-01-01T09:12:00.000Z", pid: 7 };
const watch: RecorderShape = { kind: "watch", ...base };
const agent: RecorderShape = { kind: "agent", ...base, actor: "claude", pid: 8 };
const stopped: RecorderShape = { ...watch, trouble: "process 7 is stopped", hint: "continue it" };
const server: RecorderShape = { kind: "server", ...base, pid: 9 };
const archived = { reason: "archived", hint: "unarchive" };

it("one recorder of everything is enough; agents alone record their tool calls", () => {
  expect(recordingShape([agent, watch]).state).toBe("everything");
  expect(recordingShape([agent])).toMatchObject({ state: "tool_calls", reason: null });
  expect(recordingShape([])).toEqual({ state: "nothing", by: [], reason: null, hint: null });
});

it("a recorder with a trouble is the reason for nothing, unless another one records", () => {
  expect(recordingShape([stopped])).toMatchObject({ state: "nothing", reason: stopped.trouble, hint: stopped.hint });
  expect(recordingShape([stopped, agent]).state).toBe("tool_calls");
  expect(withRecorders(recordingShape([stopped]), [server]).state).toBe("everything");
});

it("an obstacle outweighs all recorders, also those that are added", () => {
  const shape = recordingShape([watch], archived);
  expect(shape).toMatchObject({ state: "nothing", by: [watch], ...archived });
  expect(withRecorders(shape, [server])).toMatchObject({ state: "nothing", by: [watch, server], ...archived });
});

it("a recorder that is known already is not added again", () => {
  expect(withRecorders(recordingShape([server]), [server]).by).toEqual([server]);
});

it("the sync of a folder records unless it is paused or halted, which is then the reason", () => {
  const none = recordingShape([]);
  expect(withSync(none, { state: "offline" }, 5)).toMatchObject({
    state: "everything",
    by: [{ kind: "sync", pid: 5 }],
  });
  expect(withSync(none, { state: "paused" }, 5)).toMatchObject({
    ...{ state: "nothing", by: [], reason: "the sync of this folder is paused" },
    hint: expect.stringContaining("chronicle sync resume"),
  });
  expect(withSync(recordingShape([watch]), { state: "halted" }, 5)).toEqual(recordingShape([watch]));
  expect(withSync(none, { state: "stopped" }, 5)).toEqual(none);
  expect(withSync(none, undefined, 5)).toEqual(none);
});
