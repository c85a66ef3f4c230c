import fc from "fast-check";
import { expect, it } from "vitest";
import { moved, positionOf, type Span, ticksOf, timeAt, wholeSpan, zoomed } from "./time-scale.ts";

const START = Date.parse("2026-01-05T10:00:00Z");
const span: fc.Arbitrary<Span> = fc
  .tuple(fc.integer({ min: 0, max: START * 2 }), fc.integer({ min: 2_000, max: 4 * 365 * 86_400_000 }))
  .map(([from, length]) => ({ from, to: from + length }));
const share = fc.double({ min: 0, max: 1, noNaN: true });

it("the whole span has every time, with room at both ends", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: START }), { minLength: 1 }), (times) => {
      const { from, to } = wholeSpan(times);
      expect(times.every((time) => from < time && time < to)).toBe(true);
    }),
  );
  const { from, to } = wholeSpan([]);
  expect(to - from).toBe(3_600_000);
});

it("the whole span of a hundred thousand times is found", () => {
  const times = Array.from({ length: 200_000 }, (_, i) => START + i);
  expect(wholeSpan(times).from).toBeLessThan(START);
});

it("a zoom keeps the time under the pointer in place, and is neither too near nor too far", () => {
  fc.assert(
    fc.property(span, fc.double({ min: 0.01, max: 100, noNaN: true }), share, (before, factor, at) => {
      const after = zoomed(before, factor, at);
      const kept = before.from + (before.to - before.from) * at;
      expect(Math.abs(positionOf(after, kept, 1_000) - at * 1_000)).toBeLessThan(0.01);
      const length = after.to - after.from;
      expect(length).toBeGreaterThan(1_999);
      expect(length).toBeLessThan(5 * 365 * 86_400_000 + 1_000);
    }),
  );
});

it("a position is the time that is found there", () => {
  fc.assert(
    fc.property(span, share, (one, at) => {
      const time = one.from + (one.to - one.from) * at;
      expect(Math.abs(timeAt(one, positionOf(one, time, 800), 800) - time)).toBeLessThan(1);
    }),
  );
  expect(moved({ from: 1, to: 2 }, 10)).toEqual({ from: 11, to: 12 });
});

it("the ticks are round times within the span, and have room for their labels", () => {
  fc.assert(
    fc.property(span, fc.integer({ min: 200, max: 4_000 }), (one, width) => {
      const ticks = ticksOf(one, width);
      const places = ticks.map(({ time }) => positionOf(one, time, width));
      expect(places.every((x) => x >= 0 && x <= width)).toBe(true);
      expect(places.every((x, i) => i === 0 || x - (places[i - 1] ?? 0) >= 89.9)).toBe(true);
      expect(ticks.every(({ label }) => label !== "")).toBe(true);
    }),
  );
});

it("a tick says the minute, the second where they are near, and the date at midnight", () => {
  const midnight = new Date(2026, 0, 5).getTime();
  const labels = (from: number, length: number) => ticksOf({ from, to: from + length }, 900).map(({ label }) => label);
  expect(labels(midnight + 3_600_000, 1_800_000)).toContain("01:10");
  expect(labels(midnight + 3_600_000, 20_000)).toContain("01:00:10");
  expect(labels(midnight - 3_600_000, 7_200_000)).toContain("5 Jan");
  // A clock was wrong by years.
  expect(labels(midnight, 7 * 365 * 86_400_000)).toEqual(expect.arrayContaining(["Dec 2027", "Dec 2028"]));
});
