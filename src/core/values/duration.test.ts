import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatAgo, formatBytes, formatDuration, parseAgo, parseDuration } from "./duration.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

describe("parseDuration", () => {
  it.each([
    ["10m", 10 * MINUTE],
    ["2h30m", 2.5 * HOUR],
    ["3d", 3 * DAY],
    ["1w2d", 9 * DAY],
    ["1.5h", 1.5 * HOUR],
    ["250ms", 250],
    ["1m5ms", MINUTE + 5],
    ["0s", 0],
  ])("%s", (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each([
    "",
    "10",
    "m",
    "10 m",
    "-1h",
    "1h1h",
    "1m1h",
    "1y",
    "1.h",
    ".5h",
    "1H",
    "99999999999999w",
    "9".repeat(70) + "s",
  ])("refuses %j", (text) => expect(parseDuration(text)).toBeUndefined());
});

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
    ["one hour ago", HOUR],
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
    "280000 years ago",
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

describe("formatDuration", () => {
  it.each([
    [0, "0ms"],
    [850.9, "850ms"],
    [1000, "1.0s"],
    [9999, "9.9s"],
    [59_999, "59s"],
    [MINUTE, "1m"],
    [125_000, "2m 5s"],
    [90 * MINUTE, "1h 30m"],
    [DAY - 1, "23h 59m"],
    [76 * HOUR, "3d 4h"],
    [-1500, "-1.5s"],
    [Number.NaN, "unknown"],
  ])("%d", (ms, text) => expect(formatDuration(ms)).toBe(text));
});

describe("formatAgo", () => {
  const now = Date.UTC(2026, 10, 5);
  it.each([
    [0, "just now"],
    [-4999, "just now"],
    [5000, "5 seconds ago"],
    [MINUTE, "1 minute ago"],
    [59.9 * MINUTE, "59 minutes ago"],
    [HOUR, "1 hour ago"],
    [6 * DAY, "6 days ago"],
    [13 * DAY, "1 week ago"],
    [45 * DAY, "1 month ago"],
    [800 * DAY, "2 years ago"],
    [-2 * HOUR, "in 2 hours"],
    [-DAY, "in 1 day"],
  ])("%d ms before", (before, text) => expect(formatAgo(now - before, now)).toBe(text));

  it("says that the time is unknown if it is no valid time", () => {
    const texts = [Number.NaN, Number.POSITIVE_INFINITY, 9e15].map((then) => formatAgo(then, now));
    expect(new Set([...texts, formatAgo(now, Number.NaN)])).toEqual(new Set(["at an unknown time"]));
  });
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [1023, "1023 B"],
    [1024, "1 KiB"],
    [1536, "1.5 KiB"],
    [10_189, "10 KiB"],
    [1024 ** 2 - 1, "1 MiB"],
    [12.4 * 1024 ** 2, "12 MiB"],
    [2 ** 60, "1 EiB"],
    [2 ** 72, "4096 EiB"],
    [-1, "unknown size"],
    [Number.NaN, "unknown size"],
  ])("%d", (bytes, text) => expect(formatBytes(bytes)).toBe(text));
});

it("parseDuration reads a number with one unit as that many units", () => {
  const units = fc.constantFrom(["s", 1000] as const, ["m", MINUTE] as const, ["d", DAY] as const);
  fc.assert(fc.property(fc.nat(1000), units, (n, [unit, size]) => parseDuration(`${n}${unit}`) === n * size));
});
