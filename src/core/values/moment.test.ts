import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ChronicleError } from "./errors.ts";
import { isValidSnapshotName, parseMoment } from "./moment.ts";
import type { MomentBase } from "./moment.ts";

const HOUR = 3_600_000;

describe("parseMoment", () => {
  const rows: [string, MomentBase, number][] = [
    ["0", { kind: "number", n: 0 }, 0],
    ["42", { kind: "number", n: 42 }, 0],
    [" 7 ", { kind: "number", n: 7 }, 0],
    ["seq:0", { kind: "seq", seq: 0 }, 0],
    ["seq:120~2", { kind: "seq", seq: 120 }, 2],
    ["latest", { kind: "latest" }, 0],
    ["latest~", { kind: "latest" }, 1],
    ["latest~~2~", { kind: "latest" }, 4],
    ["baseline", { kind: "baseline" }, 0],
    ["now~1", { kind: "now" }, 1],
    ["10m", { kind: "ago", ms: HOUR / 6 }, 0],
    ["2h30m~3", { kind: "ago", ms: 2.5 * HOUR }, 3],
    ["3d", { kind: "ago", ms: 72 * HOUR }, 0],
    ["10min", { kind: "ago", ms: HOUR / 6 }, 0],
    ["2 hours ago~1", { kind: "ago", ms: 2 * HOUR }, 1],
    ["yesterday", { kind: "spoken", spoken: { day: "yesterday", clock: undefined } }, 0],
    ["monday 9:00~", { kind: "spoken", spoken: { day: 1, clock: [9, 0, 0] } }, 1],
    ["2026-01-31", { kind: "time", ms: Date.UTC(2026, 0, 31) }, 0],
    ["2026-01-31T09:30", { kind: "time", ms: Date.UTC(2026, 0, 31, 9, 30) }, 0],
    ["2026-01-31 09:30:15.5", { kind: "time", ms: Date.UTC(2026, 0, 31, 9, 30, 15, 500) }, 0],
    ["2026-01-31T09:30:15.123456Z", { kind: "time", ms: Date.UTC(2026, 0, 31, 9, 30, 15, 123) }, 0],
    ["2026-01-31T09:30+02:00", { kind: "time", ms: Date.UTC(2026, 0, 31, 7, 30) }, 0],
    ["2026-01-31T09:30-0530~", { kind: "time", ms: Date.UTC(2026, 0, 31, 15, 0) }, 1],
    ["2024-02-29T00:00:00+01", { kind: "time", ms: Date.UTC(2024, 1, 28, 23) }, 0],
    ["01JC8Z", { kind: "word", text: "01JC8Z" }, 0],
    ["3f2a9c1e-7b54", { kind: "word", text: "3f2a9c1e-7b54" }, 0],
    ["before-refactor~2", { kind: "word", text: "before-refactor" }, 2],
    ["v1.0+é", { kind: "word", text: "v1.0+é" }, 0],
    ["Latest", { kind: "word", text: "Latest" }, 0],
  ];
  it.each(rows)("%s", (text, base, back) => expect(parseMoment(text)).toEqual({ base, back }));

  it.each([
    "",
    " ",
    "~2",
    "-1",
    "1.5.~x",
    "seq:",
    "seq:x",
    "seq:-1",
    "99999999999999999999",
    "latest~99999999999999999999",
    "2026-02-29",
    "2026-13-01",
    "2026-01-31T24:00",
    "2026-01-31T09:60",
    "2026-01-31T09:30+25:00",
    "2026-01-31T9:30",
    "2026-01-31x",
    "a b",
    "a/b",
    "a:b",
    "--force",
    "x".repeat(101),
    "a\u0000",
    "\ud800",
  ])("refuses %j and lists the forms", (text) => {
    const caught: unknown = (() => {
      try {
        return parseMoment(text);
      } catch (error) {
        return error;
      }
    })();
    if (!(caught instanceof ChronicleError)) throw new Error(`${text} was read as ${JSON.stringify(caught)}`);
    expect([caught.code, caught.hint]).toEqual(["USAGE", expect.stringMatching(/number.*latest.*seq:N.*10m.*~N/)]);
  });

  it("asks the caller about times without a zone", () => {
    const local = (text: string): MomentBase => parseMoment(text, (time) => Date.UTC(...time) - HOUR).base;
    expect(local("2026-01-31T09:30")).toEqual({ kind: "time", ms: Date.UTC(2026, 0, 31, 8, 30) });
    expect(local("2026-01-31T09:30Z")).toEqual({ kind: "time", ms: Date.UTC(2026, 0, 31, 9, 30) });
  });
});

describe("isValidSnapshotName", () => {
  it.each(["before-refactor", "v1.0", "1.0", "a", "é", "release_2026", "日本"])("%j", (name) => {
    expect(isValidSnapshotName(name)).toBe(true);
  });

  it.each([
    "",
    "7",
    "latest",
    "Latest",
    "NOW",
    "baseline",
    "10m",
    "2026-01-01",
    "2026-01-01x",
    "seq:1",
    "a~1",
    "-x",
    ".x",
    "a b",
    "10min",
    "yesterday",
    "Monday",
    "e\u0301",
  ])("refuses %j", (name) => expect(isValidSnapshotName(name)).toBe(false));

  it("is true only for names that parseMoment reads as names", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 8 }), (name) => {
        if (isValidSnapshotName(name))
          expect(parseMoment(name)).toEqual({ base: { kind: "word", text: name }, back: 0 });
      }),
      { numRuns: 2000 },
    );
  });
});
