import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ClockJump,
  clockJumpsIn,
  notableJumps,
  plausibleTime,
  spansBetween,
  type TimedEvent,
} from "./clock-jumps.ts";

const DAY = 86_400_000;
const START = Date.parse("2030-01-10T00:00:00.000Z");

/** Returns events 1, 2, 3 …, each at a number of days after START. */
function at(...days: number[]): TimedEvent[] {
  return days.map((day, i) => ({ seq: i + 1, ts: new Date(START + day * DAY).toISOString() }));
}

function daysOf(events: readonly TimedEvent[], now: number): number[] {
  const jumps = clockJumpsIn(events, undefined);
  return events.map((event) => (plausibleTime(event, jumps, START + now * DAY) - START) / DAY);
}

describe("the jumps of a clock", () => {
  it("are the events where it went back, and only large ones are notable", () => {
    const jumps = clockJumpsIn(at(1, 2, 12, 3, 3, 2.9999, 4), undefined);
    expect(jumps.map(({ seq }) => seq)).toEqual([4, 6]);
    expect(notableJumps(jumps).map(({ seq }) => seq)).toEqual([4]);
  });

  it("are the same if the events come in two parts", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1 }), fc.nat(40), (days, cut) => {
        const events = at(...days);
        const [first, rest] = [events.slice(0, cut), events.slice(cut)];
        const inTwo = [...clockJumpsIn(first, undefined), ...clockJumpsIn(rest, first.at(-1)?.ts)];
        expect(inTwo).toEqual(clockJumpsIn(events, undefined));
      }),
    );
  });

  it("divide a log into spans in which times grow", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1 }), fc.nat(5), (days, skipped) => {
        const events = at(...days);
        const span = { from: Math.min(skipped + 1, events.length), to: events.length };
        const spans = spansBetween(clockJumpsIn(events, undefined), span).reverse();
        const seqs = spans.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, i) => from + i));
        expect(seqs).toEqual(events.slice(span.from - 1).map(({ seq }) => seq));
        for (const { from, to } of spans) {
          const times = events.slice(from - 1, to).map(({ ts }) => ts);
          expect(times).toEqual(times.toSorted());
        }
      }),
    );
  });
});

describe("the plausible time of an event", () => {
  it("is the time of its clock if the clock did not jump", () => {
    expect(daysOf(at(1, 2, 3), 4)).toEqual([1, 2, 3]);
  });

  it("is not after the present, nor after later events", () => {
    expect(daysOf(at(1, 12, 3, 4), 5)).toEqual([1, 3, 3, 4]);
    expect(daysOf(at(1, 12), 5)).toEqual([1, 5]);
  });

  it("is not before earlier events", () => {
    expect(daysOf(at(1, 2, -9000, 3), 4)).toEqual([1, 2, 2, 3]);
  });

  it("is never after the present", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { minLength: 1 }), fc.nat(9), (days, now) => {
        const events = at(...days);
        const jumps: readonly ClockJump[] = clockJumpsIn(events, undefined);
        const end = START + now * DAY;
        for (const event of events) expect(plausibleTime(event, jumps, end)).toBeLessThanOrEqual(end);
      }),
    );
  });
});
