import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BACKEND_SETS, OUTLIVES_POWER } from "../helpers/backend-sets.ts";
import { ModelPlay } from "./model-play.ts";
import { checkEverything } from "./model-retention.ts";
import { LAYOUTS, placedIn } from "./model-roots.ts";
import { modelRuns } from "./model-runs.ts";
import { histories, withoutHiding } from "./model-steps.ts";

/**
 * Random histories of two agents, people, runs and transactions in one to three roots. Any of this work is undone,
 * redone and rolled back, with conflicts, prunings, compactions, restarts and losses of power in between. The engine
 * must agree with a model that knows only states (`model-*.ts`).
 */
describe.each(BACKEND_SETS)("random histories of actions in %s", (set) => {
  it("agree with the model", async () => {
    const counts = { histories: 0, crashes: 0, owned: 0, ambiguous: 0, undos: 0, exact: 0, impure: 0, conflicts: 0 };
    const refused = new Map<string, number>();
    await fc.assert(
      fc.asyncProperty(histories, async ({ script, keep, layout, hides, ...how }) => {
        const roots = LAYOUTS[layout] ?? [];
        const play = await ModelPlay.begin(keep, { roots, set, ...how });
        for (const step of placedIn(roots, hides ? script : withoutHiding(script)))
          await play.step(OUTLIVES_POWER[set] ? step : { ...step, crash: undefined });
        await play.step({ what: { kind: "restart" }, crash: undefined });
        await checkEverything(play);
        await play.machine.close();
        expect(play.machine.disk.openDescriptors).toBe(0);
        play.machine.dispose();
        counts.histories += 1;
        counts.crashes += play.crashes;
        for (const [key, n] of Object.entries(play.history.counts)) counts[key as keyof typeof counts] += n;
        for (const [key, n] of play.refused) refused.set(key, (refused.get(key) ?? 0) + n);
      }),
      // Each run of the tests plays the same histories, so that a different result comes from a change of the code.
      modelRuns(50, "1"),
    );
    process.stdout.write(`model of actions in ${set}: ${JSON.stringify(counts)}\n`);
    if (process.env["MODEL_VERBOSE"] !== undefined)
      for (const one of refused) process.stdout.write(`${one.join(" ")}\n`);
  }, 3_600_000);
});
