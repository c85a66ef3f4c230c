import { describe, expect, it } from "vitest";
import type { Entry } from "../../core/entry.ts";
import { sha256 } from "../../core/hash.ts";
import type { WorkspacePath } from "../../core/path.ts";
import { checkLoss, checkRoot, countLost, countNew } from "./guards.ts";

const file = (text: string): Entry => ({
  path: "p" as WorkspacePath,
  kind: "file",
  mode: 0o644,
  size: text.length,
  mtimeMs: 0,
  hash: sha256(text),
});
const gone = (text: string) => ({ before: file(text), after: undefined });
const come = (text: string) => ({ before: undefined, after: file(text) });

describe("guards", () => {
  it("a folder is the one that it was, or not", () => {
    const known = { dev: "1", ino: "2" };
    expect(checkRoot(undefined, known)).toBeUndefined();
    expect(checkRoot(known, { ...known })).toBeUndefined();
    expect(checkRoot(known, undefined)).toMatchObject({ reason: "root-vanished" });
    expect(checkRoot(known, { dev: "1", ino: "3" })).toMatchObject({ reason: "root-replaced" });
    expect(checkRoot(known, { dev: "9", ino: "2" })).toMatchObject({ reason: "root-replaced" });
  });

  it("a folder that has got the inode of the one before is another one, where births are known", () => {
    const known = { dev: "1", ino: "2", birth: "10" };
    expect(checkRoot(known, { ...known })).toBeUndefined();
    expect(checkRoot(known, { ...known, birth: "11" })).toMatchObject({ reason: "root-replaced" });
    expect(checkRoot(known, { dev: "1", ino: "2" })).toBeUndefined();
    expect(checkRoot({ dev: "1", ino: "2" }, known)).toBeUndefined();
  });

  it("what has come is new, unless it has only another name; a folder has no other name", () => {
    const folder = (path: string): Entry => ({
      path: path as WorkspacePath,
      hash: undefined,
      kind: "dir",
      mode: 0o755,
      size: 0,
      mtimeMs: 0,
    });
    expect(countNew([gone("a"), come("a"), come("a"), come("b")])).toBe(2);
    expect(
      countNew([
        { before: folder("p"), after: undefined },
        { before: undefined, after: folder("q") },
      ]),
    ).toBe(1);
    expect(countNew([{ before: file("x"), after: file("y") }])).toBe(0);
  });

  it("what is moved is not lost, as often as it comes", () => {
    expect(countLost([gone("a"), gone("b"), come("a")])).toBe(1);
    expect(countLost([gone("a"), gone("a"), come("a")])).toBe(1);
    expect(countLost([gone("a"), come("b"), { before: file("x"), after: file("y") }])).toBe(1);
  });

  it.each([
    [50, 10, 0, undefined],
    [50, 10, 9, undefined],
    [50, 10, 10, "root-emptied"],
    [51, 51, 0, undefined],
    [51, 50, 0, "mass-deletion"],
    [1, 0, 0, undefined],
    [1, 1, 1, undefined],
    [2, 0, 0, "root-emptied"],
    [500, undefined, 0, undefined],
  ] as const)("%s lost, %s left, %s of them new: %s", (lost, left, fresh, reason) => {
    expect(checkLoss({ lost, left, fresh }, "here")?.reason).toBe(reason);
  });
});
