import { expect, it } from "vitest";
import * as z from "zod";
import { complaintOf } from "./validate.ts";
import { bits, count } from "./fields.ts";

/** Complaints about a field are worded in plain English, not in the terms of the schema library. */

const schema = z.strictObject({
  a: z.string().min(1).max(3),
  n: z.int().min(1).max(4).optional(),
  e: z.enum(["file", "symlink"]).optional(),
  l: z.array(z.string()).max(1).optional(),
  b: z.boolean().optional(),
  c: count("how many").optional(),
  p: bits("permissions").optional(),
  u: z.union([z.literal("last"), count("its number", { least: 1 })]).optional(),
});

it.each([
  [{}, "is missing"],
  [{ a: 1 }, "must be a text"],
  [{ a: "" }, "must not be empty"],
  [{ a: "long" }, "is too long: at most 3 characters"],
  [{ a: "a", n: 9 }, "must be at most 4"],
  [{ a: "a", n: 0 }, "must be at least 1"],
  [{ a: "a", n: 1.5 }, "must be a whole number"],
  [{ a: "a", e: "dir" }, "must be file or symlink"],
  [{ a: "a", l: "x" }, "must be a list"],
  [{ a: "a", l: ["x", "y"] }, "is too long: at most 1 of them"],
  [{ a: "a", b: "x" }, "must be true or false"],
  [{ a: "a", c: "-1" }, "must be a whole number from 0"],
  [{ a: "a", c: ["1"] }, "must be a text"],
  [{ a: "a", p: "rw" }, "must be a whole number from 0, or octal as in 0755"],
  [{ a: "a", p: "04755" }, "must be at most 511"],
  [{ a: "a", p: "0490" }, "must be a whole number from 0, or octal as in 0755"],
  [{ a: "a", p: "512" }, "must be at most 511"],
  [{ a: "a", u: "x" }, "must be last"],
  [{ a: "a", x: 1, y: 1 }, "x, y are not known here"],
  ["text", "must be an object"],
])("%j: %s", (given, words) => {
  const [issue] = schema.safeParse(given).error?.issues ?? [];
  expect(issue && complaintOf(issue)).toBe(words);
});

it("permissions are a decimal number, or an octal number if they begin with 0", () => {
  const read = (p: string) => schema.parse({ a: "a", p }).p;
  expect([read("493"), read("0755"), read("0"), read("511")]).toEqual([493, 0o755, 0, 0o777]);
});
