import fc from "fast-check";
import { expect, it } from "vitest";
import { budgetHistories, BudgetPlay } from "./model-budget.ts";
import { modelRuns } from "./model-runs.ts";

/**
 * Random histories with a small budget for private contents. Runs and actions remove and overwrite tracked and ignored
 * files, and their work is undone and redone. Whatever is given up:
 *
 * - An undo or redo makes each path as it was, or names the path. It names only ignored paths, and only if something was
 *   given up.
 * - What is kept fits into the budget after each change.
 * - `verify` finds no problem, before and after `gc`.
 */
it("what is given up is named by an undo, and nothing else is lost", async () => {
  const counts = { undos: 0, exact: 0, named: 0, givenUp: 0 };
  await fc.assert(
    fc.asyncProperty(budgetHistories, async ({ kib, script }) => {
      const play = new BudgetPlay(kib);
      await play.begin();
      for (const one of script) await play.perform(one);
      await play.end();
      for (const [key, n] of Object.entries(play.counts)) counts[key as keyof typeof counts] += n;
    }),
    modelRuns(9, "1"),
  );
  process.stdout.write(`model of the budget: ${JSON.stringify(counts)}\n`);
  expect(Math.min(...Object.values(counts))).toBeGreaterThan(2);
}, 600_000);
