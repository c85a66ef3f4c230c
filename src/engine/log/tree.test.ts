import fc from "fast-check";
import { expect, test } from "vitest";
import { LiveTree } from "../../core/tree/live-tree.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import type { Entry } from "../../core/values/entry.ts";
import { pathInRoot, parsePath, ROOT, type WorkspacePath } from "../../core/values/path.ts";
import { MemoryIndexStore } from "../../storage/memory/memory-index-store.ts";
import { batchTo, rowsOf, type Step } from "../../testing/index-rows.ts";
import { ProvedTree } from "../state/proved-tree.ts";
import { rootAtHead } from "./tree.ts";

const roots = [{ id: undefined }, { id: "lib" }, { id: "none" }];

async function entriesOf(index: MemoryIndexStore, seq: number): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const rows of index.entriesAt(seq))
    for (const { entry } of rows) if (entry !== undefined) entries.push(entry);
  return entries;
}

/**
 * Applies the steps, `atOnce` at a time, and asks for the root each time. Returns the last root and the stored hashes.
 */
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

/**
 * Asks for each root before the index knows the steps. After each root come `unrooted` steps without a root. If `keeps`
 * is true, the proved folders are kept from one root to the next.
 */
async function rootsBehind(steps: readonly Step[], atOnce: number, { unrooted, keeps }: Behind) {
  const index = new MemoryIndexStore();
  const context = { index, worktree: { roots } };
  const rows = rowsOf(steps);
  let tree = new ProvedTree(context, { seq: 0, root: manifestRoot([], ["lib", "none"]).root });
  for (let from = 0; from < rows.length; from += atOnce + unrooted) {
    const seq = Math.min(rows.length, from + atOnce);
    const behind = await tree.behind(new Map(rows.slice(tree.seq, seq).map((row) => [row.path, row.entry])));
    await index.apply(batchTo(seq, { iterations: rows.slice(from, seq), tree: behind.stored }));
    expect(behind.root).toBe(manifestRoot(await entriesOf(index, seq), ["lib", "none"]).root);
    tree = keeps ? behind.at(seq) : new ProvedTree(context, { seq, root: behind.root });
    const more = rows.slice(seq, seq + unrooted);
    if (more.length > 0) await index.apply(batchTo(seq + more.length, { iterations: more }));
  }
}

interface Behind {
  readonly unrooted: number;
  readonly keeps: boolean;
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

test("the root after changes that the index does not know yet is that of the manifest", async () => {
  const more: Step[] = [
    ["a/b/c", "file:3"],
    ["a/x", "file:1"],
    ["a/b!", "deleted"],
    ["f/h", "file:9"],
    ["\0lib/src/a", "file:2"],
    ["a/b/c", "deleted"],
    ["a/b", "deleted"],
    ["a/b", "file:now"],
  ];
  for (const atOnce of [1, 2, 3, 7, STEPS.length]) {
    for (const unrooted of [0, 1, 3])
      for (const keeps of [true, false]) await rootsBehind([...STEPS, ...more], atOnce, { unrooted, keeps });
  }
});

test("entries of a deleted folder are in no tree, and come back with the folder", async () => {
  const steps: Step[] = [
    ["d", "dir"],
    ["d/e", "dir"],
    ["d/e/f", "file:1"],
    ["d", "deleted"],
    ["x", "file:1"],
    ["d", "dir"],
  ];
  const index = new MemoryIndexStore();
  const rows = rowsOf(steps);
  await index.apply(batchTo(5, { iterations: rows.slice(0, 5) }));
  const context = { index, worktree: { roots: [{ id: undefined }] } };
  const tree = new ProvedTree(context, { seq: 5, root: await rootAtHead(context, 5) });
  const back = new Map(rows.slice(5).map((row) => [row.path, row.entry]));
  await expect(tree.behind(back)).rejects.toThrow("does not agree");
  const { root } = await tree.behind(back, true);
  await index.apply(batchTo(6, { iterations: rows.slice(5) }));
  expect(root).toBe(manifestRoot(await entriesOf(index, 6)).root);
});

test("a folder that was deleted and made again has no stored hashes of its earlier folders", async () => {
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

test("the root is right, whatever folders are deleted and made above recorded entries", async () => {
  const path = fc.constantFrom("d", "d", "d/e", "d/e", "d/e/f", "d/e/f", "d/g", "d/e/f/h", "x");
  const state = fc.constantFrom<Step[1]>("dir", "dir", "deleted", "deleted", "symlink:to", "file:1", "file:2");
  const commits = fc.array(fc.array(fc.tuple(path, state), { minLength: 1, maxLength: 4 }), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(commits, fc.boolean(), async (script, keeps) => {
      const index = new MemoryIndexStore();
      const context = { index, worktree: { roots: [{ id: undefined }] } };
      const live = new LiveTree();
      let tree = new ProvedTree(context, { seq: 0, root: manifestRoot([]).root });
      const sizes = script.map((commit) => commit.length);
      const rows = rowsOf(script.flat().map(([at, what]): Step => [parsePath(at), what]));
      let from = 0;
      for (const size of sizes) {
        const added = rows.slice(from, from + size);
        from += size;
        for (const row of added) live.set(row.path, row.entry);
        const changes = new Map(added.map((row) => [row.path, row.entry]));
        // An entry that is in no tree is trusted only if the index was just made from the log.
        const behind = await tree.behind(changes).catch(() => tree.behind(changes, true));
        expect(behind.root).toBe(live.root());
        await index.apply(batchTo(from, { iterations: added, tree: behind.stored }));
        expect(await rootAtHead(context, from)).toBe(live.root());
        tree = keeps ? behind.at(from) : new ProvedTree(context, { seq: from, root: behind.root });
      }
    }),
    { numRuns: 1000 },
  );
});
