import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readChronomemory } from "../../src/core/log/chronomemory.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { compareCodePoints, plainValue, pythonText, readPythonJson } from "../../src/core/log/python-json.ts";
import { signedLine } from "../helpers/original-log.ts";

const file = join(import.meta.dirname, "vectors/chronomemory.wal");
const vectors = readFileSync(file);
const lines = vectors.toString().trimEnd().split("\n");
const hasPython = spawnSync("python3", ["--version"]).status === 0;
const strict = { roundNumbers: false };

const read = (text: string, options = strict) => readChronomemory(Buffer.from(text), options);

describe("a log that Python wrote", () => {
  it.skipIf(!hasPython)("is the one that the script writes", () => {
    const made = spawnSync("python3", [join(import.meta.dirname, "chronomemory.py")]);
    expect(made.error).toBeUndefined();
    expect(made.stdout.equals(vectors)).toBe(true);
  });

  it("verifies line by line, and its records are read unchanged", () => {
    const { events, head, rounded, file: digest } = readChronomemory(vectors, strict);
    expect(events.map(({ seq, line }) => [seq, line])).toEqual(lines.map((_, i) => [i + 1, i + 1]));
    expect(head).toEqual({ seq: 9, hash: (JSON.parse(lines[8] ?? "") as { hash: string }).hash });
    expect([rounded, digest]).toEqual([0, sha256(vectors)]);
    for (const [i, { record, ts, op, id, recursionDepth }] of events.entries()) {
      const line = JSON.parse(lines[i] ?? "") as Record<string, unknown>;
      expect({ record, ts, op, record_id: id, recursion_depth: recursionDepth }).toEqual({
        record: line["record"],
        ts: line["ts"],
        op: line["op"],
        record_id: line["record_id"],
        recursion_depth: line["recursion_depth"],
      });
    }
  });

  it.each(lines.map((_, i) => i + 1))("any change of line %i is found, and the line is named", (number) => {
    const line = lines[number - 1] ?? "";
    for (const changed of [
      line.replace('"ts": "2026', '"ts": "2027'),
      line.replace(/"recursion_depth": \d/, '"recursion_depth": 7'),
      line.replace('"record": {', '"record": {"more": 1, ').replace(", }", "}"),
      line.replace(/"hash": "./, '"hash": "g'),
      line.slice(0, -1),
      `${line}x`,
    ]) {
      const text = lines.with(number - 1, changed).join("\n");
      expect(() => read(text)).toThrow(expect.objectContaining({ data: { line: number } }));
      expect(() => read(text)).toThrow(`line ${number} `);
    }
  });

  it("blank lines are skipped, but counted, and the last line may lack its newline", () => {
    expect(read(`\n \r\n${lines.join("\n\n")}`).events.map(({ line }) => line)).toEqual([
      3, 5, 7, 9, 11, 13, 15, 17, 19,
    ]);
    expect(read(lines.join("\r\n")).events).toHaveLength(9);
    expect(read("")).toMatchObject({ events: [], head: { seq: 0, hash: "" } });
  });
});

describe("what is refused or rounded", () => {
  it.each([
    ["a line missing", [0, 2], "seq is 3, expected 2"],
    ["a line twice", [0, 0], "seq is 1, expected 2"],
    ["a beginning missing", [1], "seq is 2, expected 1"],
  ])("%s", (_name, kept, why) => {
    expect(() => read(kept.map((i) => lines[i]).join("\n"))).toThrow(why);
  });

  it("a prev_hash that is not the hash of the line before", () => {
    const second = signedLine({ seq: "2", prev_hash: `"${"0".repeat(64)}"` });
    expect(() => read(`${lines[0]}\n${second}`)).toThrow("line 2 does not verify: its prev_hash");
  });

  it.each([
    ["a compacted log", { op: '"compact"', seq: "51" }, "compacted"],
    ["an op of its own", { op: '"purge"' }, 'op is "purge"'],
    ["a further field", { more: "1" }, 'unknown field "more"'],
    ["a seq that is text", { seq: '"1"' }, "seq is not a whole number"],
    ["a record that is a list", { record: "[]" }, "record is not an object"],
    ["a key twice", { record: '{"a": 1, "a": 2}' }, 'the key "a" twice'],
    ["a time that is NaN", { ts: "NaN" }, "ts is not text"],
    ["NaN in a record", { record: '{"a": NaN}' }, "is not supported"],
    ["half a character", { ts: '"\\ud800"' }, "a lone surrogate"],
    ["a number beyond all doubles", { record: `{"a": 1${"0".repeat(400)}}` }, "too great"],
    ["an integer that a double cannot hold", { record: '{"a": 9007199254740993}' }, "cannot hold exactly"],
    ["deep nesting", { record: `${'{"a":'.repeat(400)}1${"}".repeat(400)}` }, "nested deeper"],
  ])("%s", (_name, fields, why) => {
    let text: string;
    try {
      text = signedLine(fields);
    } catch {
      // A line that cannot be read cannot be hashed either. So it is made here, with an empty hash.
      const all = { seq: "1", ts: '"T"', op: '"upsert"', record_id: '"a"', record: "{}", prev_hash: '""', ...fields };
      text = `{${Object.entries(all)
        .map(([key, value]) => `"${key}": ${value}`)
        .join()}, "recursion_depth": 0, "hash": ""}`;
    }
    expect(() => read(text)).toThrow(why);
  });

  it("integers beyond 2^53 are rounded if that is asked for; those that a double can hold stay exact", () => {
    const line = signedLine({
      record: '{"a": 9007199254740993, "b": 9007199254740992, "c": 1e300, "d": [18446744073709551617]}',
    });
    const { events, rounded } = read(line, { roundNumbers: true });
    expect(rounded).toBe(2);
    expect(events[0]?.record).toEqual({ a: 2 ** 53, b: 2 ** 53, c: 1e300, d: [2 ** 64] });
  });
});

describe("Python's JSON", () => {
  it("orders keys by code points, which UTF-16 does not", () => {
    const keys = ["\uffff", "\u{1f600}", "a", "", "ab", "\ue000", "b"];
    expect(keys.toSorted(compareCodePoints)).toEqual(["", "a", "ab", "b", "\ue000", "\uffff", "\u{1f600}"]);
  });

  it("keeps the tokens of numbers, and a key named __proto__ is a key", () => {
    const text = '{"__proto__":{"a":1.0},"n":[1e-07,1E5,-0.0,0]}';
    expect(pythonText(readPythonJson(text))).toBe('{"__proto__": {"a": 1.0}, "n": [1e-07, 1E5, -0.0, 0]}');
    const { value } = plainValue(readPythonJson(text));
    expect(Object.keys(value as object)).toEqual(["__proto__", "n"]);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });

  it.each(["", "{", "[1,]", '{"a"}', '{"a":1,}', "01", "1.", '"a', '"\\x"', "tru", "1 2", '"\t"', "'a'", "+1", ".5"])(
    "refuses %j",
    (text) => {
      expect(() => readPythonJson(text)).toThrow(expect.objectContaining({ code: "INTEGRITY_VIOLATION" }));
    },
  );
});
