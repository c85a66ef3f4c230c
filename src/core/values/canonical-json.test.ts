import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertIntegers, canonicalFault, canonicalJson, MAX_JSON_DEPTH, parseCanonical } from "./canonical-json.ts";
import type { Json } from "./event.ts";

const refused = expect.objectContaining({ code: "INTEGRITY_VIOLATION" });

function nested(depth: number): string {
  return "[".repeat(depth) + "]".repeat(depth);
}

describe("canonicalJson", () => {
  it("writes the example of RFC 8785 §3.2.2 and §3.2.3", () => {
    const numbers = [Number("333333333.33333329"), 1e30, 4.5, 2e-3, 0.000000000000000000000000001];
    const value = {
      numbers,
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\u002f",
      literals: [null, true, false],
    };
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("sorts keys by UTF-16 code units (RFC 8785 §3.2.3)", () => {
    const value = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, "\u00f6": 7 };
    expect(Object.keys(JSON.parse(canonicalJson(value)) as object)).toEqual([
      "1",
      "\r",
      "\u0080",
      "ö",
      "€",
      "😀",
      "\ufb33",
    ]);
  });

  it.each([
    ["integer-like keys, which JavaScript puts first", { b: 1, 10: 2, 9: 3 }, '{"10":2,"9":3,"b":1}'],
    ["nested unsorted keys", { a: [{ d: 1, c: 2 }] }, '{"a":[{"c":2,"d":1}]}'],
    ["minus zero", -0, "0"],
    ["an own __proto__ key", JSON.parse('{"a":1,"__proto__":2}') as Json, '{"__proto__":2,"a":1}'],
    ["line separators, which JSON leaves alone", "\u2028\u2029\u0085\u007f", '"\u2028\u2029\u0085\u007f"'],
    ["text that looks like an escaped surrogate", "\\ud800", '"\\\\ud800"'],
    ["the empty key", { a: 1, "": 2 }, '{"":2,"a":1}'],
  ] as [string, Json, string][])("writes %s", (_name, value, text) => {
    expect(canonicalJson(value)).toBe(text);
    expect(canonicalJson(parseCanonical(text))).toBe(text);
  });

  const cycle: unknown[] = [];
  cycle.push(cycle);
  it.each([
    ["NaN", Number.NaN],
    ["an infinity", [Infinity]],
    ["undefined", { a: undefined }],
    ["a hole", Array.from({ length: 1 })],
    ["a function", { toJSON: () => 1 }],
    ["a bigint", 1n],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["bytes", Buffer.from("x")],
    ["a lone surrogate", "\ud800"],
    ["a lone surrogate in a key", { "\udc80": 1 }],
    ["a lone surrogate among keys out of order", { b: 1, a: "\ud800" }],
    ["a cycle", cycle],
    ["a value that is nested too deeply", JSON.parse(nested(MAX_JSON_DEPTH + 1))],
  ])("refuses %s", (_name, value) => {
    expect(() => canonicalJson(value as Json)).toThrow(refused);
  });

  it("writes what the package canonicalize writes, and reads it back", () => {
    const anyJson = fc.jsonValue({ maxDepth: 4, stringUnit: "binary" });
    fc.assert(
      fc.property(anyJson, (value) => {
        const text = canonicalJson(value as Json);
        expect(text).toBe(canonicalize(value));
        expect(canonicalJson(parseCanonical(text))).toBe(text);
      }),
      { numRuns: 300 },
    );
  });
});

describe("parseCanonical", () => {
  it.each([
    ["a duplicate key", '{"a":1,"a":2}'],
    ["a duplicate __proto__", '{"__proto__":1,"__proto__":1}'],
    ["keys out of order", '{"b":1,"a":2}'],
    ["integer-like keys in number order", '{"9":1,"10":2}'],
    ["UTF-8 byte order where it differs from UTF-16", '{"\ufb33":1,"\u{1f600}":2}'],
    ["a space", '{"a": 1}'],
    ["a final newline", "1\n"],
    ["minus zero", "-0"],
    ["an exponent without its sign", "1e21"],
    ["a fraction that is none", "1.0"],
    ["a number that no double holds", "9007199254740993"],
    ["a number over the largest double", "1e400"],
    ["a needless escape", '"\\u0041"'],
    ["an escape in upper case", '"\\u000F"'],
    ["an escaped solidus", '"\\/"'],
    ["an escaped lone surrogate", '"\\ud800"'],
    ["an escaped lone surrogate in upper case", '"\\uD800"'],
    ["a raw lone surrogate", '"\ud800"'],
    ["an escaped pair", '"\\ud83d\\ude00"'],
    ["a byte order mark", '\ufeff"a"'],
    ["no JSON", "{"],
    ["an empty text", ""],
    ["deep nesting", nested(100_000)],
  ])("refuses %s", (_name, text) => {
    expect(() => parseCanonical(text)).toThrow(refused);
  });

  it.each([
    '{"10":1,"9":2}',
    '{"__proto__":1}',
    "1e+21",
    '"\u2028"',
    "9007199254740992",
    nested(MAX_JSON_DEPTH),
    "null",
  ])("reads %s", (text) => {
    expect(canonicalJson(parseCanonical(text))).toBe(text);
  });

  it("gives __proto__ as an ordinary key and leaves prototypes alone", () => {
    const value = parseCanonical('{"__proto__":{"polluted":true}}') as object;
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it("refuses every text that is not the canonical text of its value", () => {
    const spaced = fc.tuple(fc.jsonValue({ maxDepth: 3 }), fc.integer({ min: 1, max: 4 }));
    fc.assert(
      fc.property(spaced, ([value, indent]) => {
        const text = JSON.stringify(value, undefined, indent);
        const isCanonical = text === canonicalJson(value as Json);
        expect(canonicalFault(text, JSON.parse(text) as Json) === undefined).toBe(isCanonical);
      }),
      { numRuns: 100 },
    );
  });
});

describe("the rule for Chronicle's own records", () => {
  it.each([0.5, 2 ** 53, -(2 ** 53), 1e21])("refuses %d", (number) => {
    expect(() => assertIntegers({ a: [number] })).toThrow(refused);
    expect(() => canonicalJson(number, { integers: true })).toThrow(refused);
    expect(() => parseCanonical(canonicalJson(number), { integers: true })).toThrow(refused);
  });

  it("takes integers within ±(2^53−1) and refuses ill-formed strings", () => {
    expect(() => assertIntegers([2 ** 53 - 1, -(2 ** 53 - 1), 0, "é"])).not.toThrow();
    expect(() => assertIntegers({ a: "\udfff" })).toThrow(refused);
  });
});
