import { expect, it } from "vitest";
import { bisect, stepsFor, type Verdict } from "./bisection.ts";

function search(points: readonly Verdict[]): { found: number; from: number; tests: number } {
  const verdicts = new Map<number, Verdict>();
  for (;;) {
    const step = bisect(points.length, verdicts);
    if ("found" in step) return { ...step, tests: verdicts.size };
    expect(verdicts.has(step.next)).toBe(false);
    verdicts.set(step.next, points[step.next] ?? "unknown");
  }
}

function points(count: number, firstBad: number): Verdict[] {
  return Array.from({ length: count }, (_, at) => (at < firstBad ? "good" : "bad"));
}

it("finds each first bad point, with at most as many tests as a binary search", () => {
  for (let count = 1; count <= 40; count += 1) {
    for (let bad = 0; bad < count; bad += 1) {
      const { found, from, tests } = search(points(count, bad));
      expect({ found, from }).toEqual({ found: bad, from: bad });
      expect(tests).toBeLessThanOrEqual(stepsFor(count));
    }
  }
});

it("names all points that may be the first bad one, if points before it cannot be tested", () => {
  for (let bad = 2; bad < 12; bad += 1) {
    for (let unknown = 1; unknown < bad; unknown += 1) {
      const all = points(12, bad).map((one, at): Verdict => (at >= bad - unknown && at < bad ? "unknown" : one));
      expect(search(all)).toMatchObject({ found: bad, from: bad - unknown });
    }
  }
});

it("ends if no point between can be tested", () => {
  expect(search(["unknown", "unknown", "unknown", "bad"])).toEqual({ found: 3, from: 0, tests: 3 });
});

it("tells how many tests are left", () => {
  expect([0, 1, 2, 3, 4, 5, 1024, 1025].map(stepsFor)).toEqual([0, 0, 1, 2, 2, 3, 10, 11]);
});
