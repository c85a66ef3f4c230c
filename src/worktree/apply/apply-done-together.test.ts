import { expect, test } from "vitest";
import type { Change, Entry, EntryKind } from "../../core/values/entry.ts";
import { foldersAbove, parsePath } from "../../core/values/path.ts";
import { doneTogether } from "./apply.ts";

const PATHS = ["d", "d/a", "d/deep", "d/deep/f", "d/deep/g"];
const FULL: readonly (EntryKind | undefined)[] = ["dir", "file", "dir", "file", "file"];
const LINK: readonly (EntryKind | undefined)[] = ["symlink", undefined, undefined, undefined, undefined];
const NOTHING: readonly (EntryKind | undefined)[] = [undefined, undefined, undefined, undefined, undefined];
const FLAT: readonly (EntryKind | undefined)[] = ["dir", "file", "file", undefined, undefined];

function entry(path: string, kind: EntryKind | undefined): Entry | undefined {
  if (kind === undefined) return undefined;
  return { path: parsePath(path), kind, mode: 0o755, size: 0, mtimeMs: 0, hash: undefined };
}

function changesOf(before: typeof FULL, after: typeof FULL): Change[] {
  return PATHS.flatMap((path, i) => {
    if (before[i] === after[i]) return [];
    return { path: parsePath(path), before: entry(path, before[i]), after: entry(path, after[i]) };
  });
}

/** True if, after these changes, everything above an existing path is a folder. */
function isTree(before: typeof FULL, done: readonly Change[]): boolean {
  const state = new Map(PATHS.map((path, i) => [path, entry(path, before[i])]));
  for (const { path, after } of done) state.set(path, after);
  const there = PATHS.filter((path) => state.get(path) !== undefined);
  return there.every((path) => foldersAbove(parsePath(path)).every((above) => state.get(above)?.kind === "dir"));
}

test.each([
  ["a folder is removed", FULL, NOTHING],
  ["a folder is made", NOTHING, FULL],
  ["a folder becomes a link", FULL, LINK],
  ["a link becomes a folder", LINK, FULL],
  ["a folder in it becomes a file", FULL, FLAT],
  ["a file in it becomes a folder", FLAT, FULL],
])("%s: whichever of the changes are done, the reported ones leave a valid tree", (_, before, after) => {
  const changes = changesOf(before, after);
  for (let seen = 0; seen < 2 ** changes.length; seen += 1) {
    const all = changes.filter((_change, i) => (seen & (2 ** i)) !== 0);
    const done = doneTogether(changes, (change) => all.includes(change));
    expect(isTree(before, done)).toBe(true);
    expect(all).toEqual(expect.arrayContaining(done));
    if (isTree(before, all)) expect(done).toEqual(all);
  }
});
