import { describe, expect, it } from "vitest";
import { countThatFits, fitted, listed } from "./fit.ts";
import { fittedData, withShortIds } from "./fit-data.ts";
import { shortId, shortIds } from "./short-ids.ts";

const ID = "7ee1a2b3-4c5d-4e6f-8a9b-0c1d2e3f4a5b";
const HASH = "ab".repeat(32);

describe("fitted", () => {
  const many = Array.from({ length: 50 }, (_, i) => `item ${i}`);

  it("returns everything that fits, in its order", () => {
    expect(fitted(["a", listed(["b", "c"]), "d"], 100)).toEqual({ lines: ["a", "b", "c", "d"], isCut: false });
  });

  it("keeps sentences behind a long list, and says how many items are left out", () => {
    const { lines, isCut } = fitted(["first", listed(many), "last"], 100);
    expect([lines[0], lines.at(-1), isCut]).toEqual(["first", "last", true]);
    const shown = lines.filter((line) => line.startsWith("item")).length;
    expect(lines.at(-2)).toBe(`… and ${50 - shown} more`);
    expect(lines.join("\n").length).toBeLessThanOrEqual(100);
    expect(shown).toBeGreaterThan(3);
  });

  it("gives a long list what short ones do not need, whichever comes first", () => {
    const one = fitted([listed(many), listed(["b"])], 200);
    const other = fitted([listed(["b"]), listed(many)], 200);
    expect(one.lines).toContain("b");
    expect(one.lines.length).toBe(other.lines.length);
    expect(one.lines.length).toBeGreaterThan(15);
  });

  it("counts the items that it was not given", () => {
    expect(fitted([listed(["a"], 1_001)], 100)).toEqual({ lines: ["a", "… and 1,000 more"], isCut: true });
  });

  it("cuts a long first item, but no path behind it", () => {
    expect(fitted([listed(["x".repeat(500)])], 200).lines[0]).toMatch(/^x+…$/);
    const { lines } = fitted([listed(["a", "y".repeat(500)])], 200);
    expect(lines).toEqual(["a", "… and 1 more"]);
  });
});

describe("fittedData", () => {
  it("cuts lists, names them, and keeps scalars and short lists", () => {
    const data = { total: 900, notes: ["n"], changes: Array.from({ length: 900 }, (_, i) => ({ path: `file ${i}` })) };
    const cut = fittedData(data, 1_000) as typeof data & { shortened: string[] };
    expect(cut).toMatchObject({ total: 900, notes: ["n"], shortened: ["changes"] });
    expect(cut.changes.length).toBeGreaterThan(20);
    expect(JSON.stringify(cut).length).toBeLessThanOrEqual(1_000);
    expect(fittedData(cut, 2_000)).toBe(cut);
  });

  it("cuts a patch and marks it, and never cuts another text", () => {
    const content = "c".repeat(2_000);
    const cut = fittedData({ content, changes: [{ path: "a", patch: "p".repeat(5_000) }] }, 3_000);
    expect(cut["content"]).toBe(content);
    expect(cut["changes"]).toMatchObject([{ path: "a", patch_cut: true }]);
    expect(cut["shortened"]).toEqual(["patch"]);
    expect(JSON.stringify(cut).length).toBeLessThanOrEqual(3_000);
  });
});

describe("short ids", () => {
  it("are the beginnings of UUIDs; a UUID v7 keeps what differs within a minute", () => {
    expect(shortId(ID)).toBe("7ee1a2b3");
    expect(shortId("01890a5d-ac96-774b-bcce-b302099a8057")).toBe("01890a5d-ac96-774b");
    expect(["seq:12", "s1", "toolu_1"].map(shortId)).toEqual(["seq:12", "s1", "toolu_1"]);
  });

  it("stand in sentences, but paths stay as they are", () => {
    expect(shortIds(`undo of ${ID}, see ~/.agent/${ID}.jsonl`)).toBe(`undo of 7ee1a2b3, see ~/.agent/${ID}.jsonl`);
  });

  it("stand in data; hashes are left out; paths and contents stay", () => {
    const data = { id: ID, hash: HASH, before_hash: HASH, path: ID, nested: [{ session: ID, text: ID }], count: 1 };
    expect(withShortIds(data)).toEqual({
      id: "7ee1a2b3",
      path: ID,
      nested: [{ session: "7ee1a2b3", text: ID }],
      count: 1,
    });
  });
});

it("countThatFits returns at least one", () => {
  expect(countThatFits(["aaa", "b"], (one) => one.length, 1)).toBe(1);
  expect(countThatFits(["a", "b", "c"], (one) => one.length, 2)).toBe(2);
  expect(countThatFits([], () => 1, 5)).toBe(0);
});
