import { expect, test } from "vitest";
import type { WorkspaceApi } from "../../src/api/workspace-api.ts";
import type { StoreOptions } from "../../src/api/store-api.ts";
import { sha256 } from "../../src/core/values/hash.ts";
import { openSimStore } from "../../src/testing/sim-store.ts";
import type { SimDisk } from "../../src/testing/sim-disk/sim-disk.ts";
import { type CrashSweep, sweepCrashes } from "../../src/testing/crash-sweep.ts";
import { newDisk, project, put } from "../helpers/engine-sweep.ts";

/**
 * An action of which the copies exceed the budget, so that the oldest copies are given up, then gc, cut off anywhere.
 * Afterwards, `verify` finds no problem, the next action gives up what was not given up yet, and the undo of each action
 * brings back its file exactly, or names it.
 */

const ALL = process.env["SWEEP_ALL"] !== undefined;
const BUDGET = 8_000;
const NAMES = ["a", "b", "c"];

async function withBudget<T>(disk: SimDisk, firstId: number, work: Work<T>): Promise<T> {
  const retention: StoreOptions["retention"] = { max_private_bytes: BUDGET };
  const store = await openSimStore(disk, { firstId, retention });
  try {
    const workspace = await store.open({ folder: "/proj", create: true });
    try {
      return await work(workspace, async () => (await store.du()).kept_beside?.budgets[0]?.used_bytes ?? 0);
    } finally {
      await workspace.close();
    }
  } finally {
    await store.close();
  }
}

type Work<T> = (workspace: WorkspaceApi, used: () => Promise<number>) => Promise<T>;

/** Text that does not compress well, and that no other file has. */
function textOf(name: string): string {
  let [text, state] = ["", name.charCodeAt(0) * 7_919];
  while (text.length < 4_000) {
    state = (state * 48_271) % 2_147_483_647;
    text += state.toString(36);
  }
  return `${text.slice(0, 4_000)}\n`;
}

/** Removes the ignored file by an action. Returns the id of the action. */
async function removed(disk: SimDisk, workspace: WorkspaceApi, name: string): Promise<string> {
  const path = `/proj/${name}.log`;
  put(disk, path, textOf(name));
  const action = await workspace.snapshotAction({ type: "run_command", payload: { command: `rm ${name}.log` } });
  disk.unlink(path);
  disk.syncFolder("/proj");
  await workspace.finishAction(action?.id ?? "");
  return action?.id ?? "";
}

test(
  "copies beyond the budget are given up as a whole or not at all, and nothing else is lost",
  async () => {
    const disk = newDisk();
    const ids = await withBudget(disk, 0, async (workspace) => [
      await removed(disk, workspace, "a"),
      await removed(disk, workspace, "b"),
    ]);
    const prepared = disk.crash("keep");
    const sweep: CrashSweep<string> = {
      prepare: () => prepared,
      run: (copy, acknowledge) =>
        withBudget(copy, 1_000, async (workspace) => {
          acknowledge(await removed(copy, workspace, "c"));
          await workspace.gc();
        }),
      check: (copy, { acknowledged }) =>
        withBudget(copy, 500_000, async (workspace, used) => {
          await workspace.snapshot();
          expect((await workspace.verify()).problems).toEqual([]);
          await removed(copy, workspace, "d");
          expect(await used()).toBeLessThanOrEqual(BUDGET);
          await workspace.gc();
          for (const [i, id] of [...ids, ...acknowledged].entries()) {
            const path = `${NAMES[i]}.log`;
            const { skipped } = await workspace.undo({ action: id });
            const isNamed = skipped.some((one) => one.path === path && one.reason === "content-missing");
            const found = project(copy)[path];
            if (isNamed) expect(found).toBeUndefined();
            else expect(found).toContain(sha256(textOf(NAMES[i] ?? "")));
            if (i === 0) expect(isNamed).toBe(true);
          }
          expect((await workspace.verify()).problems).toEqual([]);
        }),
      ...(ALL ? {} : { every: 19, fates: ["forget", "keep", { seed: 1 }] as const, errnos: ["ENOSPC", "EIO"] }),
    };
    const { points } = await sweepCrashes(sweep);
    expect(points).toBeGreaterThan(20);
  },
  ALL ? 900_000 : 120_000,
);
