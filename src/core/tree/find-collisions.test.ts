import { describe, expect, it } from "vitest";
import { findCollisions, type NameRules } from "./find-collisions.ts";
import type { WorkspacePath } from "../values/path.ts";

const find = (paths: readonly string[], rules: NameRules) => findCollisions(paths as readonly WorkspacePath[], rules);
const MACOS: NameRules = { caseInsensitive: true, normalise: true };

describe("findCollisions", () => {
  it("finds nothing if names are compared as bytes", () => {
    expect(find(["a", "A", "é", "e\u0301"], {})).toEqual([]);
  });

  it("finds names that differ in case, in one folder only", () => {
    expect(find(["readme", "README", "docs/readme"], { caseInsensitive: true })).toEqual([["README", "readme"]]);
  });

  it("finds folders that collide, also where only their files are listed, and nothing more below them", () => {
    const found = find(["src/a", "Src/a", "Src/b", "src/b"], { caseInsensitive: true });
    expect(found).toEqual([["Src", "src"]]);
  });

  it("finds other spellings of one text, with and without case", () => {
    expect(find(["é", "e\u0301", "É"], { normalise: true })).toEqual([["e\u0301", "é"]]);
    expect(find(["é", "e\u0301", "É"], MACOS)).toEqual([["e\u0301", "É", "é"]]);
    expect(find(["É", "e\u0301"], { caseInsensitive: true })).toEqual([]);
  });

  it.each([
    ["ß", "SS"],
    ["ſ", "s"],
    ["\u212A", "k"],
    ["ΑΣ", "ας"],
    ["ΑΣ", "ασ"],
  ])("folds %s and %s together", (a, b) => {
    expect(find([a, b], { caseInsensitive: true })).toHaveLength(1);
  });

  it("keeps bytes that are not UTF-8 apart", () => {
    expect(find(["a\udcc9", "a\udce9", "A\udcc9"], MACOS)).toEqual([["A\udcc9", "a\udcc9"]]);
  });

  it("counts a path that is given twice as one", () => {
    expect(find(["a", "a"], MACOS)).toEqual([]);
  });
});
