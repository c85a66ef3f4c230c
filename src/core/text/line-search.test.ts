import { describe, expect, it } from "vitest";
import { LineSearch, type LinePattern } from "./line-search.ts";

const search = (text: string, content: string | Uint8Array, more: Partial<LinePattern> = {}, most = 100) =>
  new LineSearch({ text, isFixed: false, ignoresCase: false, ...more }).search(Buffer.from(content), most);

const lines = (...args: Parameters<typeof search>): string[] =>
  search(...args)?.lines.map(({ line, text }) => `${line}:${text}`) ?? [];

describe("a search of lines", () => {
  it("finds the lines that match by themselves, whatever ends them", () => {
    expect(lines("b.d", "abcd\nb\nd\nbxd\r\nbyd")).toEqual(["1:abcd", "4:bxd", "5:byd"]);
    expect(lines("^$", "\na\n\n\r\n")).toEqual(["1:", "3:", "4:"]);
    expect(lines("^b$", "b\r\nab\nb\n")).toEqual(["1:b", "3:b"]);
    expect(lines("x", "")).toEqual([]);
    expect(lines("^", "a\n")).toEqual(["1:a"]);
  });

  it("never matches over a line end, and misses no line behind such a match", () => {
    expect(lines("a\\s+b", "a\nb\na b\n")).toEqual(["3:a b"]);
    expect(lines("a[^x]*b", "a\nb\na.b\nb\n")).toEqual(["3:a.b"]);
    expect(lines("foo(?![^]*bar)", "foo\nfoo bar\n")).toEqual(["1:foo"]);
    expect(lines("(?<=a)b|\\Wc", "ab\na\nb\n-c\n\nc")).toEqual(["1:ab", "4:-c"]);
    expect(lines("[\\]^]", "]\nx\n^")).toEqual(["1:]", "3:^"]);
  });

  it("agrees with a search of each single line", () => {
    const alphabet = ["a", "b", " ", "\n", "\r", "é", "\u2028", "-", "\t", "😀", "A"];
    const patterns = ["a\\s*b", "^a", "b$", "a.b", "(a|b)\\1", "\\bb", "^\\s*$", "a\\S*-", "[ab]-", "\\B-"];
    const overLines = [
      "a[\\s\\S]*b",
      "(a|\\s)*b",
      "[\\w\\s]+-",
      "[\\t-a]b",
      "(?:\\S\\s)+b",
      "[\\b-b]-",
      "a\\12b",
      "a[^]+b",
    ];
    const ofCodePoints = ["\\p{Lu}", "[😀é]b", "\\P{L}+b$", "\\u{1F600}\\s*a", "^\\p{L}*$"];
    const all = [...patterns, ...overLines, ...ofCodePoints];
    let seed = 11;
    const random = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff) % below;
    for (let n = 0; n < 4_600; n += 1) {
      const content = Array.from({ length: random(30) }, () => alphabet[random(alphabet.length)]).join("");
      const pattern = all[n % all.length] ?? "";
      const flags = ofCodePoints.includes(pattern) ? "u" : "";
      const single = content.split("\n").flatMap((line, i, { length }) => {
        const isLast = i === length - 1;
        const text = !isLast && line.endsWith("\r") ? line.slice(0, -1) : line;
        return !(isLast && line === "") && new RegExp(pattern, flags).test(text) ? [`${i + 1}:${text}`] : [];
      });
      expect([pattern, content, lines(pattern, content)]).toEqual([pattern, content, single]);
    }
  });

  it("takes a pattern of code points as one, and never splits a character", () => {
    expect(lines("^\\p{Lu}", "p{Lu}\nÉ\n")).toEqual(["2:É"]);
    expect(lines("\\u{1F600}", "u\n😀\n")).toEqual(["2:😀"]);
    expect(lines("[😀🎉]", "😁\n🎉\n")).toEqual(["2:🎉"]);
    expect(lines("\\\\p{2}\\-", "\\pp-\n")).toEqual(["1:\\pp-"]);
    expect(lines("\\p{L}", "\\p{L}\nL\n", { isFixed: true })).toEqual(["1:\\p{L}"]);
    expect(search("\\p{Lu}*", "😀A")?.lines[0]?.spans).toEqual([2, 3]);
    expect(search("x.", "x😀x")?.lines[0]?.spans).toEqual([0, 3]);
    expect(search(".", "😀")?.lines[0]?.spans).toEqual([0, 2]);
    expect(search("[^a]b", "😀b")?.lines[0]?.spans).toEqual([0, 3]);
    expect(() => search("\\p{Nope}", "x")).toThrow("invalid property name");
  });

  it("leaves a byte order mark out of the first line", () => {
    expect(search("^import", "\uFEFFimport a\nimport b\n")?.lines).toMatchObject([
      { line: 1, text: "import a", spans: [0, 6] },
      { line: 2 },
    ]);
    expect(lines("^", "\uFEFF")).toEqual([]);
  });

  it("takes a fixed text as it is, and ignores case if asked", () => {
    expect(lines("a.*(", "a.*( x\nab(\nA.*(", { isFixed: true })).toEqual(["1:a.*( x"]);
    expect(lines("a.*(", "a.*( x\nab(\nA.*(", { isFixed: true, ignoresCase: true })).toHaveLength(2);
    expect(lines("É+", "éé\n", { ignoresCase: true })).toEqual(["1:éé"]);
  });

  it("says where the matches are, and cuts a very long line around the first", () => {
    expect(search("o", "foo\n")?.lines[0]?.spans).toEqual([1, 2, 2, 3]);
    expect(search("x*", "axxb")?.lines[0]?.spans).toEqual([1, 3]);
    const [cut] = search("needle", `${"a".repeat(9_000)}needle${"b".repeat(9_000)}`)?.lines ?? [];
    expect([cut?.isCut, cut?.text.length]).toEqual([true, 4_000]);
    const [start = 0, end = 0] = cut?.spans ?? [];
    expect(cut?.text.slice(start, end)).toBe("needle");
  });

  it("counts all lines, keeps the first, and only says that a binary content matches", () => {
    expect(search("a", "a\nb\na\na", {}, 2)).toMatchObject({ total: 3, lines: [{ line: 1 }, { line: 3 }] });
    expect(search("key", "\0\0key")).toEqual({ isBinary: true, lines: [], total: 1 });
    expect(search("k.y", "\0\0nok-")).toBeUndefined();
  });

  it("asks for the memory of each line before it holds it", () => {
    let asked = 0;
    const take = (): void => {
      asked += 1;
      if (asked > 2) throw new Error("full");
    };
    const lineSearch = new LineSearch({ text: "a", isFixed: false, ignoresCase: false });
    expect(() => lineSearch.search(Buffer.from("a\n".repeat(9)), 9, take)).toThrow("full");
    expect(asked).toBe(3);
  });

  it.each([
    ["(a", "unterminated group"],
    ["[b-a]", "range out of order"],
    ["*", "nothing to repeat"],
    ["", "empty"],
    ["a".repeat(10_001), "too long"],
  ])("refuses %.10s", (text, reason) => {
    expect(() => search(text, "x")).toThrow(reason);
  });

  it("refuses a fixed text with a line break", () => {
    expect(() => search("a\nb", "x", { isFixed: true })).toThrow("line break");
  });
});
