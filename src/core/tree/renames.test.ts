import { describe, expect, it } from "vitest";
import type { Change, Entry } from "../values/entry.ts";
import { sha256 } from "../values/hash.ts";
import type { WorkspacePath } from "../values/path.ts";
import {
  canBeSimilar,
  equalRenames,
  LEAST_SIMILARITY,
  lineWeights,
  type Rename,
  renameSides,
  similarRenames,
  similarSizes,
  withoutRenamed,
} from "./renames.ts";

const contents = new Map<Change, Buffer>();

function entry(path: string, content: string): Entry {
  const bytes = Buffer.from(content);
  const rest = { kind: "file", mode: 0o644, mtimeMs: 0 } as const;
  return { path: path as WorkspacePath, size: bytes.length, hash: sha256(bytes), ...rest };
}

function gone(path: string, content: string): Change {
  const change = { path: path as WorkspacePath, before: entry(path, content), after: undefined };
  contents.set(change, Buffer.from(content));
  return change;
}

function made(path: string, content: string): Change {
  const change = { path: path as WorkspacePath, before: undefined, after: entry(path, content) };
  contents.set(change, Buffer.from(content));
  return change;
}

function told(renames: readonly Rename[]): string[] {
  return renames.map((one) => `${one.gone.path} → ${one.made.path} ${one.similarity}`);
}

function found(changes: readonly Change[], steps = 1_000): string[] {
  const sides = renameSides(changes);
  const equal = equalRenames(sides);
  const weightsOf = (one: Change) => lineWeights(contents.get(one) ?? Buffer.alloc(0));
  return told([...equal, ...similarRenames(withoutRenamed(sides, equal), weightsOf, { steps })]);
}

/** Returns a text of ten lines, of which the first `other` ones differ. */
function lines(other: number): string {
  return Array.from({ length: 10 }, (_, i) => `${i < other ? "other" : "equal"} line ${i}\n`).join("");
}

describe("renamed files", () => {
  it("have equal contents, and the one with the same name comes first", () => {
    expect(found([gone("a/one", "x"), gone("a/two", "x"), made("b/other", "x"), made("b/two", "x")])).toEqual([
      "a/two → b/two 100",
      "a/one → b/other 100",
    ]);
  });

  it("have at least half of their bytes in common, in lines", () => {
    expect(found([gone("a", lines(0)), made("b", lines(5))])).toEqual(["a → b 50"]);
    expect(found([gone("a", lines(0)), made("b", lines(6))])).toEqual([]);
    expect(found([gone("a", lines(0)), made("b", lines(0) + lines(10))])).toEqual([`a → b ${LEAST_SIMILARITY}`]);
    expect(found([gone("a", lines(0)), made("b", `${lines(0)}${lines(10)}more\n`)])).toEqual([]);
  });

  it("are the most similar ones of several, whatever their order", () => {
    const [one, two] = [gone("one", lines(0)), gone("two", lines(3))];
    const [near, far] = [made("near", lines(1)), made("far", lines(4))];
    for (const changes of [
      [one, two, near, far],
      [far, near, two, one],
    ])
      expect(found(changes).sort()).toEqual(["one → near 90", "two → far 90"]);
  });

  it("are no copies: a file is renamed once", () => {
    expect(found([gone("a", lines(0)), made("b", lines(1)), made("c", lines(1))])).toEqual(["a → b 90"]);
    expect(found([gone("a", "x"), made("b", "x"), made("c", "x")])).toEqual(["a → b 100"]);
  });

  it("are never 100 % similar if their contents differ", () => {
    expect(found([gone("a", "1\n2\n"), made("b", "2\n1\n")])).toEqual(["a → b 99"]);
  });

  it("are no empty files, no changed files, and no paths with several changes", () => {
    const changed = { path: "x" as WorkspacePath, before: entry("x", "x"), after: entry("x", "y") };
    expect(found([gone("a", ""), made("b", ""), changed, made("c", "x")])).toEqual([]);
    expect(found([gone("a", "x"), made("b", "x"), gone("a", "y")])).toEqual([]);
  });

  it("are not compared any more once the budget is spent", () => {
    const changes = [gone("a", lines(0)), made("b", lines(1)), gone("c", "x"), made("d", "x")];
    expect(found(changes, 9)).toEqual(["c → d 100"]);
    expect(found(changes, 10)).toEqual(["c → d 100", "a → b 90"]);
  });
});

it("similarSizes agrees with a comparison with each size", () => {
  const sizes = [1, 3, 10, 50, 51, 1_000];
  const isSimilar = similarSizes(sizes);
  for (let size = 1; size <= 2_100; size += 1)
    expect([size, isSimilar(size)]).toEqual([size, sizes.some((one) => canBeSimilar(one, size))]);
  expect(similarSizes([])(1)).toBe(false);
});
