import { describe, expect, it } from "vitest";
import type { Entry } from "../../../core/values/entry.ts";
import { sha256 } from "../../../core/values/hash.ts";
import type { WorkspacePath } from "../../../core/values/path.ts";
import { checkLoss, checkRoot, countLost, isElsewhere } from "./deletion-guard.ts";

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
  it("a known folder that vanished or has another inode is reported", () => {
    const known = { dev: "1", ino: "2" };
    expect(checkRoot(undefined, known)).toBeUndefined();
    expect(checkRoot(known, { ...known })).toBeUndefined();
    expect(checkRoot(known, undefined)).toMatchObject({ reason: "root-vanished" });
    expect(checkRoot(known, { dev: "1", ino: "3" })).toMatchObject({ reason: "root-replaced" });
  });

  it("a folder with the same inode on another device is not reported, unless its birth time differs", () => {
    const known = { dev: "1", ino: "2" };
    expect(checkRoot(known, { dev: "9", ino: "2" })).toBeUndefined();
    expect(checkRoot({ ...known, birth: "1" }, { dev: "9", ino: "2", birth: "2" })).toMatchObject({
      reason: "root-replaced",
    });
    expect(isElsewhere(known, { dev: "9", ino: "2" })).toBe(true);
    expect([isElsewhere(known, { ...known }), isElsewhere(undefined, known)]).toEqual([false, false]);
  });

  it("a folder with the same inode and another birth time is reported, if both birth times are known", () => {
    const known = { dev: "1", ino: "2", birth: "10" };
    expect(checkRoot(known, { ...known })).toBeUndefined();
    expect(checkRoot(known, { ...known, birth: "11" })).toMatchObject({ reason: "root-replaced" });
    expect(checkRoot(known, { dev: "1", ino: "2" })).toBeUndefined();
    expect(checkRoot({ dev: "1", ino: "2" }, known)).toBeUndefined();
  });

  it("a content that comes at another path is not lost, once for each such path", () => {
    expect(countLost([gone("a"), gone("b"), come("a")])).toBe(1);
    expect(countLost([gone("a"), gone("a"), come("a")])).toBe(1);
    expect(countLost([gone("a"), come("b"), { before: file("x"), after: file("y") }])).toBe(1);
  });

  it.each([
    [50, 1, undefined],
    [50, 0, "root-emptied"],
    [51, 0, "root-emptied"],
    [51, 50, "mass-deletion"],
    [51, 51, undefined],
    [1, 0, undefined],
    [2, 0, "root-emptied"],
    [2, 1, undefined],
    [0, 0, undefined],
  ] as const)("%s lost, %s kept: %s", (lost, kept, reason) => {
    expect(checkLoss({ lost, kept })).toBe(reason);
  });
});
