import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAgo } from "./duration.ts";
import { calendarTimeOf, type CalendarTime, parseAgo, parseSpokenTime } from "./spoken-time.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("parseAgo", () => {
  it.each([
    ["10min", 10 * MINUTE],
    ["10 mins", 10 * MINUTE],
    ["1 minute ago", MINUTE],
    ["45 seconds ago", 45_000],
    ["2 hours 5 minutes ago", 2 * HOUR + 5 * MINUTE],
    ["2 hours, 5 minutes", 2 * HOUR + 5 * MINUTE],
    ["2 days and 3 hours ago", 2 * DAY + 3 * HOUR],
    ["1 day 2h", DAY + 2 * HOUR],
    ["1hour30min", 1.5 * HOUR],
    ["1.5 hours ago", 1.5 * HOUR],
    ["an hour ago", HOUR],
    ["a week ago", 7 * DAY],
    ["3 months ago", 90 * DAY],
    ["1 Year Ago", 365 * DAY],
  ])("%s", (text, ms) => expect(parseAgo(text)).toBe(ms));

  it.each([
    "",
    "ago",
    "minute",
    "1",
    "1 ago",
    "5 apples ago",
    "5 minutes 2 hours",
    "1h 1h",
    "-1 minutes",
    "a",
    "an",
    "abc",
  ])("refuses %j", (text) => expect(parseAgo(text)).toBeUndefined());

  it("reads what formatAgo prints", () => {
    fc.assert(
      fc.property(fc.integer({ min: 5_000, max: 5 * 365 * DAY }), (ms) => {
        const read = parseAgo(formatAgo(0, ms));
        expect(read).toBeLessThanOrEqual(ms);
        expect(formatAgo(0, read ?? 0)).toBe(formatAgo(0, ms));
      }),
    );
  });
});

describe("a day and a time of day", () => {
  /** Wednesday, at 14:30:15. */
  const now: CalendarTime = [2026, 6, 15, 14, 30, 15, 250];
  const at = (text: string): string | undefined => {
    const spoken = parseSpokenTime(text);
    if (spoken === undefined) return undefined;
    return new Date(Date.UTC(...calendarTimeOf(spoken, now))).toISOString().replace(/\.000Z$/, "");
  };

  it.each([
    ["yesterday", "2026-07-14T14:30:15"],
    ["yesterday 9:00", "2026-07-14T09:00:00"],
    ["yesterday at 9", "2026-07-14T09:00:00"],
    ["yesterday noon", "2026-07-14T12:00:00"],
    ["today", "2026-07-15T00:00:00"],
    ["today 9:05", "2026-07-15T09:05:00"],
    ["9:05", "2026-07-15T09:05:00"],
    ["9:05:30", "2026-07-15T09:05:30"],
    ["23:00", "2026-07-14T23:00:00"],
    ["9am", "2026-07-15T09:00:00"],
    ["2:00 pm", "2026-07-15T14:00:00"],
    ["12am", "2026-07-15T00:00:00"],
    ["midnight", "2026-07-15T00:00:00"],
    ["monday", "2026-07-13T14:30:15"],
    ["Monday 9:00", "2026-07-13T09:00:00"],
    ["last mon at 9pm", "2026-07-13T21:00:00"],
    ["wednesday", "2026-07-08T14:30:15"],
    ["wednesday 9:00", "2026-07-15T09:00:00"],
    ["wed 15:00", "2026-07-08T15:00:00"],
    ["thursday", "2026-07-09T14:30:15"],
    ["sun", "2026-07-12T14:30:15"],
  ])("%s", (text, meant) => expect(at(text)).toBe(meant));

  it.each([
    "",
    "9",
    "24:00",
    "9:60",
    "13pm",
    "0am",
    "tomorrow",
    "last",
    "last yesterday",
    "monday x",
    "at",
    "moon",
    "9:5",
  ])("refuses %j", (text) => expect(at(text)).toBeUndefined());

  it("goes over the ends of months and years", () => {
    const newYear: CalendarTime = [2027, 0, 1, 0, 10, 0, 0];
    expect(calendarTimeOf({ day: "yesterday", clock: undefined }, newYear)).toEqual([2026, 11, 31, 0, 10, 0, 0]);
    expect(calendarTimeOf({ day: undefined, clock: [23, 0, 0] }, newYear)).toEqual([2026, 11, 31, 23, 0, 0, 0]);
  });
});
