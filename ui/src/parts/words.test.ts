import { expect, it } from "vitest";
import { counted, digits, size, visible } from "./words.ts";

it("a count has its word, and its digits are in groups", () => {
  expect([counted(1, "file"), counted(2, "file"), counted(0, "entry", "entries")]).toEqual([
    ...["1 file", "2 files", "0 entries"],
  ]);
  expect(digits(1_234_567)).toBe("1,234,567");
});

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1_000, "1.0 KB"],
  [9_940, "9.9 KB"],
  [9_999, "10 KB"],
  [999_999, "1.0 MB"],
  [200_000_000, "200 MB"],
  [1_500_000_000_000, "1.5 TB"],
])("%i bytes are %s", (bytes, text) => {
  expect(size(bytes)).toBe(text);
});

it("a name has no characters that change how it looks; others stay as they are", () => {
  expect(visible("a\u202Egpj.exe")).toBe("a\\u202egpj.exe");
  expect(visible("a\nb\u001B[31m\u200D")).toBe("a\\u000ab\\u001b[31m\\u200d");
  expect(visible("日本 العربية e\u0301 😀")).toBe("日本 العربية e\u0301 😀");
  const others = ["\u061C", "\u00AD", "\u200B", "\u2028", "\u2066", "\uFEFF", "\uD800"];
  expect(others.map(visible)).toEqual(["\\u061c", "\\u00ad", "\\u200b", "\\u2028", "\\u2066", "\\ufeff", "\\ud800"]);
  expect(visible("\u{E0041}")).toBe("\\u{e0041}");
});
