import { expect, test } from "vitest";
import { manifestRoot } from "../core/merkle.ts";
import type { Entry } from "../core/entry.ts";
import { pathInRoot, parsePath, ROOT, type WorkspacePath } from "../core/path.ts";
import { MemoryIndexStore } from "../storage/memory/memory-index-store.ts";
import { batchTo, rowsOf, type Step } from "../testing/index-rows.ts";
import { rootAtHead } from "./tree.ts";

const roots = [{ id: undefined }, { id: "lib" }, { id: "none" }];

async function entriesOf(index: MemoryIndexStore, seq: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const rows of index.entriesAt(seq))
    for (const { entry } of rows) if (entry !== undefined) entries.push(entry);
  return entries;
}

/** Brings the steps in, so many at once; asks for the root each time; answers what was told last, and what is stored. */
async function rootAfter(steps: readonly Step[], atOnce: number, stored: readonly WorkspacePath[]) {
  const index = new MemoryIndexStore();
  const rows = rowsOf(steps);
  let root = "";
  for (let from = 0; from < rows.length; from += atOnce) {
    const seq = Math.min(rows.length, from + atOnce);
    await index.apply(batchTo(seq, { iterations: rows.slice(from, seq) }));
    root = await rootAtHead({ index, worktree: { roots } }, seq);
    const { root: expected } = manifestRoot(await entriesOf(index, seq), ["lib", "none"]);
    expect(root).toBe(expected);
  }
  const hashes = [];
  for (const path of stored) hashes.push(await index.treeHashAt(path, rows.length));
  return { root, hashes };
}

const STEPS: readonly Step[] = [
  ["\0lib/src", "dir"],
  ["\0lib/src/a", "file:1"],
  ["a", "dir"],
  ["a/b", "dir"],
  ["a/b/c", "file:1"],
  ["a/b!", "file:2"],
  ["a/link", "symlink:b"],
  ["empty", "dir"],
  ["was", "dir"],
  ["was/in", "dir"],
  ["was/in/x", "file:1"],
  ["was/in/x", "deleted"],
  ["was/in", "deleted"],
  ["was", "deleted"],
  ["was", "file:now"],
  ["f", "file:1"],
  ["f", "deleted"],
  ["f", "dir"],
  ["f/g", "file:1"],
  ["a/b/c", "file:2"],
];

test("the root is that of the manifest, whether it is asked for after each change or after many", async () => {
  const folders = [ROOT, pathInRoot("lib", ROOT), pathInRoot("lib", parsePath("src")), pathInRoot("none", ROOT)];
  const stored = [...folders, ...["a", "a/b", "empty", "f", "was", "was/in"].map(parsePath)];
  const at = await Promise.all([1, 2, 3, 7, STEPS.length].map((atOnce) => rootAfter(STEPS, atOnce, stored)));
  for (const other of at.slice(1)) expect(other).toEqual(at[0]);
  expect(at[0]?.hashes.map((hash) => hash !== undefined)).toEqual([
    ...[true, true, true, true],
    ...[true, true, true, true, false, false],
  ]);
});

test("what was emptied, and filled anew, has no hash of what is gone", async () => {
  const steps: Step[] = [
    ["d", "dir"],
    ["d/e", "dir"],
    ["d/e", "deleted"],
    ["d", "deleted"],
    ["d", "dir"],
    ["x", "file:1"],
  ];
  const stored = [ROOT, parsePath("d"), parsePath("d/e")];
  const each = await rootAfter(steps, 1, stored);
  expect(await rootAfter(steps, 4, stored)).toEqual(each);
  expect(await rootAfter(steps, 6, stored)).toEqual(each);
  expect(each.hashes.map((hash) => hash !== undefined)).toEqual([true, true, false]);
});
