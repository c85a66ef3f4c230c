import { describe, expect, it } from "vitest";
import { parseSpokenTime, spokenToUtc, UTC, type Zone } from "./spoken-time.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe("a day and a time of day", () => {
  /** Wednesday, at 14:30:15. */
  const wednesday = Date.UTC(2026, 6, 15, 14, 30, 15, 250);
  const at = (text: string, now = wednesday, zone = UTC): string | undefined => {
    const spoken = parseSpokenTime(text);
    if (spoken === undefined) return undefined;
    return new Date(spokenToUtc(spoken, zone, now)).toISOString().replace(/\.000Z$/, "");
  };

  it.each([
    ["yesterday", "2026-07-14T14:30:15"],
    ["yesterday 9:00", "2026-07-14T09:00:00"],
    ["yesterday at 9", "2026-07-14T09:00:00"],
    ["yesterday noon", "2026-07-14T12:00:00"],
    ["yesterday, 9:00", "2026-07-14T09:00:00"],
    ["9am yesterday", "2026-07-14T09:00:00"],
    ["noon last tuesday", "2026-07-14T12:00:00"],
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
    const newYear = Date.UTC(2027, 0, 1, 0, 10);
    expect(at("yesterday", newYear)).toBe("2026-12-31T00:10:00");
    expect(at("23:00", newYear)).toBe("2026-12-31T23:00:00");
  });

  describe("where clocks are set forward and back", () => {
    const [begins, ends] = [Date.UTC(2026, 2, 8, 7), Date.UTC(2026, 10, 1, 6)];
    const offset = (ms: number): number => (ms >= begins && ms < ends ? -4 * HOUR : -5 * HOUR);
    const newYork: Zone = {
      toUtc: (time) => {
        const summer = Date.UTC(...time) + 4 * HOUR;
        return offset(summer) === -4 * HOUR ? summer : Date.UTC(...time) + 5 * HOUR;
      },
      fromUtc: (ms) => UTC.fromUtc(ms + offset(ms)),
    };
    const inNewYork = (text: string, now: number): string | undefined => at(text, now, newYork);

    it("a skipped time of day is that of the day before, and never lies ahead", () => {
      const now = begins + 15 * MINUTE;
      expect(inNewYork("2:30", now)).toBe("2026-03-07T07:30:00");
      expect(inNewYork("3:10", now)).toBe("2026-03-08T07:10:00");
      expect(inNewYork("1:59", now)).toBe("2026-03-08T06:59:00");
      expect(inNewYork("sunday 2:30", now)).toBe("2026-03-01T07:30:00");
    });

    it("a time of day that comes twice is the last one that has passed", () => {
      const secondPass = ends + 10 * MINUTE;
      expect(inNewYork("1:05", secondPass)).toBe("2026-11-01T06:05:00");
      expect(inNewYork("1:30", secondPass)).toBe("2026-11-01T05:30:00");
      expect(inNewYork("sunday 1:30", secondPass)).toBe("2026-11-01T05:30:00");
      expect(inNewYork("1:30", ends - 20 * MINUTE)).toBe("2026-11-01T05:30:00");
      expect(inNewYork("1:50", ends - 20 * MINUTE)).toBe("2026-10-31T05:50:00");
    });
  });
});
