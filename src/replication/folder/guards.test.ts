import { describe, expect, it } from "vitest";
import type { Entry } from "../../core/entry.ts";
import { sha256 } from "../../core/hash.ts";
import type { WorkspacePath } from "../../core/path.ts";
import { checkLoss, checkRoot, countLost } from "./guards.ts";

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

  it("what is moved is not lost, as often as it comes", () => {
    expect(countLost([gone("a"), gone("b"), come("a")])).toBe(1);
    expect(countLost([gone("a"), gone("a"), come("a")])).toBe(1);
    expect(countLost([gone("a"), come("b"), { before: file("x"), after: file("y") }])).toBe(1);
  });

  it.each([
    [50, 10, undefined],
    [51, 51, undefined],
    [51, 50, "mass-deletion"],
    [1, 0, undefined],
    [2, 0, "root-emptied"],
    [500, undefined, undefined],
  ] as const)("%s lost, %s left: %s", (lost, left, reason) => {
    expect(checkLoss({ lost, left }, "here")?.reason).toBe(reason);
  });
});
