import { expect, it } from "vitest";
import { type Choice, chosenOf, listedOf, type Picked } from "./chosen-rows.ts";

function choice(path: string, { kind = "file", hunks = 0 }: { kind?: "file" | "dir"; hunks?: number } = {}): Choice {
  const at = (line: number) => ({ from_line: line, to_line: line, patch: "", merges: true });
  const about = {
    path,
    file: path,
    seen: null,
    edited_by: [],
    hunks: Array.from({ length: hunks }, (_, i) => at(i + 1)),
  };
  const change = { path, change_type: "modified" as const, kind, before_hash: "", after_hash: "" };
  return { about, change: { ...change, before_size: 0, after_size: 0, size_delta: 0 }, isConflict: false };
}

/** Chooses all hunks of the choices, or only the first ones of a path. */
function pick(all: readonly Choice[], paths: Readonly<Record<string, number>>): Picked[] {
  return all.flatMap(({ about }) => {
    const most = paths[about.path];
    return most === undefined ? [] : [{ about, hunks: about.hunks.slice(0, most) }];
  });
}

const ALL = Number.MAX_SAFE_INTEGER;

it("takes a path only if everything listed beneath it is chosen whole", () => {
  const folder = { kind: "dir" } as const;
  const all = [choice("d", folder), choice("d/e", folder), choice("d/e/x", { hunks: 2 }), choice("d/f", folder)];
  expect(listedOf(all).map(({ about }) => about.path)).toEqual(["d/e/x", "d/f"]);
  const filesOf = (paths: Readonly<Record<string, number>>) => {
    const { parts, isAll } = chosenOf(all, pick(all, paths), undefined);
    return [isAll, ...parts.map((one) => ("fromLine" in one ? `${one.file}:${one.fromLine}` : `${one.file}:`))];
  };
  expect(filesOf({ "d/e/x": ALL, "d/f": ALL })).toEqual([true, "d:", "d/e:", "d/e/x:", "d/f:"]);
  expect(filesOf({ "d/e/x": ALL })).toEqual([false, "d/e:", "d/e/x:"]);
  expect(filesOf({ "d/e/x": 1, "d/f": ALL })).toEqual([false, "d/e/x:1", "d/f:"]);
});

it("leaves a chosen file in the place of a folder if something beneath it was not chosen", () => {
  const all = ["c", "c/x", "c-d", "c/y"].map((path) => choice(path));
  const some = chosenOf(all, pick(all, { c: ALL, "c/y": ALL, "c-d": ALL }), undefined);
  expect([some.stays, some.parts.map(({ file }) => file)]).toEqual([["c"], ["c-d", "c/y"]]);
  const every = chosenOf(all, pick(all, { c: ALL, "c/x": ALL, "c/y": ALL, "c-d": ALL }), undefined);
  expect([every.stays, every.isAll, every.parts.length]).toEqual([[], true, 4]);
});

it("never takes a file whole of which only lines were given", () => {
  const all = [choice("a", { hunks: 2 }), choice("secret"), choice("src/b", { hunks: 1 }), choice("new")];
  const lines = { fromLine: 3, toLine: 9 };
  const given = [{ file: "a", ...lines }, { file: "secret", ...lines }, { file: "src" }];
  const { parts } = chosenOf(all, pick(all, { a: ALL, secret: ALL, "src/b": ALL }), given);
  expect(parts).toEqual([
    { file: "a", seen: null, fromLine: 1, toLine: 1, hunk: true },
    { file: "a", seen: null, fromLine: 2, toLine: 2, hunk: true },
    { file: "secret", seen: null, ...lines },
    { file: "src/b", seen: null },
  ]);
});
