import { describe, expect, it } from "vitest";
import { parseCount, parseSeconds, parseSize } from "./parse-value.ts";

describe("parseSize", () => {
  it.each([
    ["0", 0],
    ["500", 500],
    ["500M", 500 * 1024 ** 2],
    ["2GiB", 2 * 1024 ** 3],
    ["2 GiB", 2 * 1024 ** 3],
    ["2gb", 2e9],
    ["1.5k", 1536],
    ["1T", 1024 ** 4],
    ["10B", 10],
  ])("%s", (text, bytes) => expect(parseSize(text)).toBe(bytes));

  it.each(["", "M", "-1", "2 apples", "1e9", "0x10", "99999999T", "1..5k", "NaN"])("refuses %j", (text) =>
    expect(parseSize(text)).toBeUndefined(),
  );
});

describe("parseCount and parseSeconds", () => {
  it("read plain numbers only", () => {
    expect(["0", "12"].map(parseCount)).toEqual([0, 12]);
    expect(["-1", "1.5", "1e3", "", "99999999999999999999"].map(parseCount)).toEqual(Array(5).fill(undefined));
    expect(["0", "1.5"].map(parseSeconds)).toEqual([0, 1.5]);
    expect(["-1", "soon", "", "Infinity"].map(parseSeconds)).toEqual(Array(4).fill(undefined));
  });
});
