import { expect, test } from "vitest";
import { comparePaths } from "../../core/path.ts";
import { MemoryIndexStore } from "../../storage/memory/memory-index-store.ts";
import { batchTo, rowsOf, type Step } from "../../testing/index-rows.ts";
import type { CyclePath } from "./decide-cycle.ts";
import { isFirst, readCycle, readFirst } from "./read-cycle.ts";
import { ReplicatedPaths } from "./replicated-paths.ts";
import { differingPaths } from "./touched-paths.ts";

const STEPS: readonly Step[] = [
  ["\0more/a", "file:1"],
  ["a", "dir"],
  ["a/b", "file:1"],
  ["a/b", "file:2"],
  ["a/old", "file:1"],
  ["a/old", "deleted"],
  ["a/link", "symlink:b"],
  ["a/x.log", "file:1"],
  ["build", "dir"],
  ["build/out", "file:1"],
  [".git", "dir"],
  [".git/config", "file:1"],
  ["was", "file:1"],
  ["was", "deleted"],
  ["was", "dir"],
  ["was/in", "file:1"],
];

async function sidesOf(own: readonly Step[] = []) {
  const [mirror, index] = [new MemoryIndexStore(), new MemoryIndexStore()];
  await mirror.apply(batchTo(STEPS.length, { iterations: rowsOf(STEPS) }));
  await index.apply(batchTo(Math.max(2, own.length), { iterations: rowsOf(own) }));
  const rules = new ReplicatedPaths({ mode: "two-way-safe", filterTo: ["*.log", "build/"], filterFrom: [] });
  const local = (await index.head()).seq;
  const isOwn = async (): Promise<boolean> => false;
  return { mirror, own: index, applied: 0, head: STEPS.length, local, conflicts: [], rules, isOwn };
}

function present(paths: readonly CyclePath[]): CyclePath[] {
  return paths.filter(({ remote }) => remote !== undefined).toSorted((a, b) => comparePaths(a.path, b.path));
}

test("the first time is read as every other one", async () => {
  const sides = await sidesOf();
  expect(await isFirst(sides)).toBe(true);
  const touched = new Set(await sides.mirror.touched(0, sides.head));
  for (const path of await differingPaths([sides.mirror, sides.head], [sides.own, sides.local])) touched.add(path);
  const first = await readFirst(sides);
  expect(first.map(({ path }) => path).toSorted()).toEqual(["a", "a/b", "a/link", "was", "was/in"]);
  expect(present(first)).toEqual(present(await readCycle(sides, touched)));
});

test("it is the first time only where nothing was ever recorded, and nothing was ever reconciled", async () => {
  const gone: Step[] = [
    ["mine", "file:1"],
    ["mine", "deleted"],
  ];
  expect(await isFirst(await sidesOf(gone))).toBe(false);
  expect(await isFirst({ ...(await sidesOf()), applied: 3 })).toBe(false);
});
