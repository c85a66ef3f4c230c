import { expect, it } from "vitest";
import { spokenMoment } from "./spoken-moment.ts";

const NOW = new Date(2026, 2, 10, 12, 0, 30).getTime();
const at = (...parts: readonly [number, number, number, number?]): number => {
  const [month, day, hour, minute = 0] = parts;
  return new Date(2026, month - 1, day, hour, minute).getTime();
};

it.each([
  ["10m", NOW - 600_000],
  ["10 minutes ago", NOW - 600_000],
  ["an hour ago", NOW - 3_600_000],
  ["2 days", NOW - 2 * 86_400_000],
  ["14:05", at(3, 9, 14, 5)],
  ["9:30", at(3, 10, 9, 30)],
  ["Yesterday", new Date(2026, 2, 9, 12, 0, 30).getTime()],
  ["yesterday at 9:00", at(3, 9, 9)],
  ["today", at(3, 10, 0)],
  ["2026-02-28 08:15", at(2, 28, 8, 15)],
  ["2026-02-28", at(2, 28, 0)],
])("%s is a moment", (text, time) => {
  expect(spokenMoment(text, NOW)).toBe(time);
});

it.each(["", "a minute", "10", "tomorrow", "25:00", "today 13:00", "2026-02-30", "2027-01-01", "10 files", "main.ts"])(
  "%j is none",
  (text) => {
    expect(spokenMoment(text, NOW)).toBeUndefined();
  },
);
