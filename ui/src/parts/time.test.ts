import { expect, it } from "vitest";
import { agoText } from "./time.tsx";

const NOW = new Date(2026, 5, 15, 12, 0, 0).getTime();

it.each([
  ["a second ago", new Date(2026, 5, 15, 11, 59, 59), "now"],
  ["minutes ago", new Date(2026, 5, 15, 11, 57, 0), "3 min. ago"],
  ["of this year", new Date(2026, 1, 3, 9, 5, 0), "3 Feb, 09:05"],
  ["of another year", new Date(2025, 1, 3, 9, 5, 0), "3 Feb 2025"],
  ["a little ahead", new Date(2026, 5, 15, 12, 0, 10), "now"],
  ["ahead by a wrong clock", new Date(2026, 5, 15, 13, 0, 0), "15 Jun, 13:00"],
  ["years ahead", new Date(2033, 4, 1, 10, 0, 0), "1 May 2033"],
])("the time of work %s is %s", (_name, at, text) => {
  expect(agoText(at.getTime(), NOW)).toBe(text);
});
