import { expect, test } from "vitest";
import type { ReconcileMode } from "../../../core/tree/reconcile.ts";
import { MemoryBlobStore } from "../../../storage/memory/memory-blob-store.ts";
import { MemoryIndexStore } from "../../../storage/memory/memory-index-store.ts";
import { batchTo, rowsOf, type Step } from "../../../testing/index-rows.ts";
import { HOLDS_ALL } from "../../../core/tree/folder-traits.ts";
import { NotHeldPaths } from "../paths/not-held-paths.ts";
import { decideCycle } from "../ground/decide-cycle.ts";
import { planCycle, type CyclePlan } from "./plan-cycle.ts";
import { planFirst, type FirstSides } from "./plan-first.ts";
import { readCycle } from "./read-cycle.ts";
import { ReplicatedPaths } from "../ground/replicated-paths.ts";
import { settleMerges } from "../ground/settle-merges.ts";
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
  ["a!", "file:1"],
  ["build", "dir"],
  ["build/out", "file:1"],
  ["build.txt", "file:1"],
  [".git", "dir"],
  [".git/config", "file:1"],
  ["sub", "dir"],
  ["sub/.GIT", "dir"],
  ["sub/.GIT/config", "file:1"],
  ["sub/.gitx", "file:1"],
  ["was", "file:1"],
  ["was", "deleted"],
  ["was", "dir"],
  ["was/in", "file:1"],
];
const MODES: readonly ReconcileMode[] = ["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"];

type Sides = FirstSides & Parameters<typeof readCycle>[0];

interface Given {
  readonly mode?: ReconcileMode;
  readonly steps?: readonly Step[];
  readonly own?: readonly Step[];
}

/** Returns a folder's sides. The origin has these steps, and its `a/b` has a setuid bit, which no copy gets. */
async function sidesOf({ mode = "two-way-safe", steps = STEPS, own = [] }: Given = {}): Promise<Sides> {
  const [mirror, index] = [new MemoryIndexStore(), new MemoryIndexStore()];
  const iterations = rowsOf(steps).map((row) =>
    row.path === "a/b" && row.entry !== undefined ? { ...row, entry: { ...row.entry, mode: 0o4755 } } : row,
  );
  await mirror.apply(batchTo(steps.length, { iterations }));
  await index.apply(batchTo(Math.max(2, own.length), { iterations: rowsOf(own) }));
  const rules = new ReplicatedPaths({ mode, filterTo: ["*.log", "build/"], filterFrom: [] });
  const local = (await index.head()).seq;
  const isOwn = async (): Promise<boolean> => false;
  const ground = { mirror, own: index, applied: 0, head: steps.length, local, conflicts: [], rules, isOwn };
  return { ...ground, nameRules: undefined };
}

/** Returns the plan that a cycle would make for these sides if it were not the first one. */
async function plannedAsEver(sides: Sides): Promise<CyclePlan> {
  const touched = await differingPaths([sides.mirror, sides.head], [sides.own as MemoryIndexStore, sides.local]);
  const paths = await readCycle(sides, touched);
  const { decisions } = await settleMerges(new MemoryBlobStore(), decideCycle(paths, sides.rules.mode));
  const ground = { origin: "origin", applied: 0, rules: sides.rules, paths, conflicts: [], collisions: [] };
  const isOnItsWay = (): boolean => false;
  const now = "2026-11-22T10:00:00.000Z";
  return planCycle(decisions, { ...ground, waiting: new Set(), isOnItsWay, newId: () => "id", now });
}

test.each(MODES)("in %s, the first plan equals the plan that any other cycle would make", async (mode) => {
  const sides = await sidesOf({ mode });
  const first = await planFirst(sides);
  expect(first?.changes.map(({ path }) => path)).toEqual([
    "a",
    "a/b",
    "a/link",
    "a!",
    "build.txt",
    "sub",
    "sub/.gitx",
    "was",
    "was/in",
  ]);
  expect(first?.changes.find(({ path }) => path === "a/b")?.after?.mode).toBe(0o755);
  expect(first).toEqual(await plannedAsEver(sides));
});

test("there is no first plan if the folder has ever recorded a file, or if events were applied", async () => {
  const own: Step[] = [
    ["mine", "file:1"],
    ["mine", "deleted"],
  ];
  expect(await planFirst(await sidesOf({ own }))).toBeUndefined();
  expect(await planFirst({ ...(await sidesOf()), applied: 3 })).toBeUndefined();
});

test("there is no first plan for half of an origin's commit, in which a file has paths beneath it", async () => {
  const steps: Step[] = [...STEPS, ["was", "file:2"]];
  expect(await planFirst(await sidesOf({ steps }))).toBeUndefined();
  // A path beneath a file is accepted if the filter leaves it out. `a!` and `ab` do not lie in `a`.
  const other: Step[] = [
    ["a", "file:1"],
    ["a/x.log", "file:1"],
    ["a!", "file:1"],
    ["ab", "dir"],
  ];
  const sides = await sidesOf({ steps: other });
  expect(await planFirst(sides)).toEqual(await plannedAsEver(sides));
});

test("there is no first plan if the disk takes two of the names for one", async () => {
  const steps: Step[] = [
    ["A", "dir"],
    ["A/x", "file:1"],
    ["a", "file:1"],
  ];
  const sides = await sidesOf({ steps });
  expect(await planFirst({ ...sides, nameRules: {} })).toBeDefined();
  expect(await planFirst({ ...sides, nameRules: { caseInsensitive: true } })).toBeUndefined();
});

test("what the folder can hold is found out once, and not for every path", async () => {
  let times = 0;
  const notHeld = new NotHeldPaths(() => {
    times += 1;
    return { ...HOLDS_ALL, symlinks: false };
  });
  const plan = await planFirst({ ...(await sidesOf()), notHeld });
  expect(plan?.changes.map(({ path }) => path)).not.toContain("a/link");
  expect([...notHeld.leftOut.keys()]).toEqual(["a/link"]);
  expect(times).toBe(1);
});
