import { expect, it } from "vitest";
import { recordingShape } from "../../api/recording.ts";
import type { RecorderShape } from "../../api/shapes.ts";
import { recordingLine } from "./recording.ts";

const at = (hours: number, minutes: number, day = 15): Date => new Date(2030, 5, day, hours, minutes);
const style = { paint: (_: unknown, text: string) => text, now: at(12, 0).getTime(), worded: (text: string) => text };
const here = { ...style, isRemote: false };
const since = at(9, 12).toISOString();
const of = (kind: RecorderShape["kind"], more: Partial<RecorderShape> = {}): RecorderShape => ({
  ...{ kind, actor: null, since, pid: 123 },
  ...more,
});

it("says who records everything, since when", () => {
  expect(recordingLine(recordingShape([of("watch")]), here)).toBe("recording: watch since 09:12 (pid 123)");
  const old = of("server", { since: at(23, 5, 14).toISOString() });
  expect(recordingLine(recordingShape([old]), here)).toBe(
    "recording: chronicle serve since 2030-06-14 23:05 (pid 123)",
  );
  const run = of("run", { command: ["npm", "test"], pid: 124 });
  expect(recordingLine(recordingShape([of("watch"), run, of("agent", { actor: "claude" })]), here)).toBe(
    "recording: watch since 09:12 (pid 123), run npm test since 09:12 (pid 124)",
  );
  expect(recordingLine(recordingShape([of("writes", { since: null, pid: null })]), here)).toBe(
    "recording: every write, as it is made",
  );
});

it("says what is not recorded while agents work", () => {
  const two = recordingShape([of("agent", { actor: "claude" }), of("agent", { actor: "codex" })]);
  expect(recordingLine(two, here)).toBe(
    "recording: claude's tool calls since 09:12, codex's tool calls since 09:12; your own edits only with the next command",
  );
  const many = recordingShape(["a", "b", "c", "d", "e"].map((actor) => of("agent", { actor })));
  expect(recordingLine(many, here)).toContain("c's tool calls since 09:12 and 2 more; your own edits");
});

it("says that nobody records, why, and what to do", () => {
  expect(recordingLine(recordingShape([]), here)).toBe(
    "NOT RECORDING between commands: `chronicle watch`, or `chronicle watch --install .`",
  );
  expect(recordingLine(recordingShape([], { reason: "it is archived", hint: "unarchive it" }), here)).toBe(
    "NOT RECORDING: it is archived; unarchive it",
  );
  expect(recordingLine(recordingShape([]), { ...style, isRemote: true })).toContain("NOT RECORDING between requests:");
});
