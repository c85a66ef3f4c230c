import { expect, it } from "vitest";
import type { VerifyShape } from "../../../src/api/shapes.ts";
import { verdictOf } from "./verdict.ts";

const result = (more: Partial<VerifyShape> = {}): VerifyShape => ({
  ...{
    ok: true,
    events: 9,
    blobs: 3,
    bytes: 40,
    problems: [],
    notes: [],
    anchored_to: null,
    expected: null,
    seconds: 0,
  },
  ...more,
});
const all = { isQuick: false, last: 9 };
const log = { isQuick: true, last: 9 };

it("does not say that a history is what was recorded if nothing confirms it", () => {
  const { title, proof } = verdictOf({ result: result(), ...all });
  expect(title).toMatch(/^Consistent in itself: .* Nothing outside of this history confirms it\.$/);
  expect(proof).toBe("No signed head was there to compare with.");
});

it("says that contents were not read", () => {
  expect(verdictOf({ result: result(), ...log }).title).toBe("The log is consistent. The contents were not read.");
  const { title } = verdictOf({ result: result({ anchored_to: 9 }), ...log });
  expect(title).toBe("The log is what was recorded. The contents were not read.");
});

it("says that a history is whole, and how many events no head proves", () => {
  expect(verdictOf({ result: result({ anchored_to: 9 }), ...all })).toEqual({
    title: "Whole: every event and content is what was recorded.",
    proof: "Proved by a signed head up to event 9.",
  });
  const { title, proof } = verdictOf({ result: result({ anchored_to: 7 }), ...all });
  expect(title).toMatch(/^Whole up to event 7: /);
  expect(proof).toContain("No signed head was there for the 2 events after it.");
  expect(verdictOf({ result: result({ anchored_to: 8 }), ...all }).proof).toContain(
    "No signed head was there for the event after it.",
  );
});

it.each([
  ["valid", true, /^Whole/],
  ["none", true, /^Consistent in itself/],
  ["invalid", false, /^Consistent in itself/],
] as const)("a head that was given proves the history only if it is signed: %s", (signature, ok, title) => {
  const expected = { seq: 9, ok, signature };
  expect(verdictOf({ result: result({ expected }), ...all }).title).toMatch(title);
});

it("claims nothing of a history with problems", () => {
  const problems = [{ kind: "blob-missing", where: "a", detail: "b" }] as unknown as VerifyShape["problems"];
  const { title, proof } = verdictOf({ result: result({ ok: false, problems, anchored_to: 9 }), ...all });
  expect([title, proof]).toEqual(["1 problem found", "Compared with a signed head of event 9."]);
});
